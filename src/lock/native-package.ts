import Module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * The package fs-native-extensions, which is CommonJS without types. Throws if it is not installed or has no build for
 * this machine. Its binary is loaded from its usual place: the package's own search takes six times as long, and is
 * left to other places.
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
      // The package searches itself.
    }
  }
  return load(main);
}
