import Module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * The package fs-native-extensions, which is CommonJS without types. Throws if it is not installed or has no build for
 * this machine. Loads the binary from its usual place, because the package's own search takes six times as long. Falls
 * back to that search.
 */
export function nativeExtensions(): unknown {
  const load = createRequire(import.meta.url);
  const main = load.resolve('fs-native-extensions');
  const binding = join(dirname(main), 'binding.js');
  if (load.cache[binding] === undefined) {
    const place = join('prebuilds', `${process.platform}-${process.arch}`, 'fs-native-extensions.node');
    try {
      const found = new Module(binding);
      found.exports = load(join(dirname(main), place));
      load.cache[binding] = found;
    } catch {
      // Fall back to the package's own search.
    }
  }
  return load(main);
}
