import { createRequire } from 'node:module';

/** The version of this package. The lookup uses the package's name, so it works from any bundled file. */
export function version(): string {
  // A package.json without a version cannot be published; the shape is npm's.
  const manifest = createRequire(import.meta.url)('lookfirst/package.json') as { version: string };
  return manifest.version;
}
