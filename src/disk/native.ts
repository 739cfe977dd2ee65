import { createRequire } from 'node:module';

/** The functions we use of fs-native-extensions: atomic exchange of two names, and extended attributes. */
export interface NativeFiles {
  /** renameat2(RENAME_EXCHANGE), or RENAME_SWAP on macOS. Both names must exist, on one file system. */
  swapSync(from: string, to: string): void;
  listAttrsSync(fd: number): Iterable<string>;
  getAttrSync(fd: number, name: string): Buffer | null;
  setAttrSync(fd: number, name: string, value: Buffer): void;
}

/**
 * The native helper, or undefined if it has no build for this machine. Not used on Windows, where
 * its swap is not atomic.
 */
export function loadNative(): NativeFiles | undefined {
  if (process.platform === 'win32') return undefined;
  try {
    // The package is CommonJS without types; `NativeFiles` declares the part we use.
    return createRequire(import.meta.url)('fs-native-extensions') as NativeFiles;
  } catch {
    // The dependency is optional. Without it, commits claim and link, and extended attributes are not copied.
    return undefined;
  }
}
