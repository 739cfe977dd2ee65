import { createRequire } from 'node:module';

/** The version of this package. Source, compiled and bundled files are equally deep below its manifest. */
export function version(): string {
  // A package.json without a version cannot be published; the shape is npm's.
  const manifest = createRequire(import.meta.url)('../../package.json') as { version: string };
  return manifest.version;
}
