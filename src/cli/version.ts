import { createRequire } from 'node:module';

/** This package's version. Found by the package's own name, so that it does not matter which file asks. */
export function version(): string {
  // A package.json without a version cannot be published; the shape is npm's.
  const manifest = createRequire(import.meta.url)('lookfirst/package.json') as { version: string };
  return manifest.version;
}
