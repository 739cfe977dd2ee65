import Module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Loads the package fs-native-extensions, which is CommonJS without types. First tries the usual
 * path of its binary, because the package's own search takes six times as long. Throws if the
 * package is not installed or has no build for this machine. Throws under Deno too: the binary uses functions of
 * libuv that Deno lacks, and its first call would end the process.
 */
export function nativeExtensions(): unknown {
  if ('deno' in process.versions) throw new Error('Deno cannot run fs-native-extensions');
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
