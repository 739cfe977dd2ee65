import { createRequire } from 'node:module';

/** What we use of fs-native-extensions: the atomic exchange of two names, and extended attributes. */
export interface NativeFiles {
  /** renameat2(RENAME_EXCHANGE), or macOS' RENAME_SWAP; both names must exist on one file system. */
  swapSync(from: string, to: string): void;
  listAttrsSync(fd: number): Iterable<string>;
  getAttrSync(fd: number, name: string): Buffer | null;
  setAttrSync(fd: number, name: string, value: Buffer): void;
}

/** The native helper, or undefined where it has no build for this machine. On Windows its swap is not atomic. */
export function loadNative(): NativeFiles | undefined {
  if (process.platform === 'win32') return undefined;
  try {
    // CommonJS without type declarations; the interface above is the part we rely on.
    return createRequire(import.meta.url)('fs-native-extensions') as NativeFiles;
  } catch {
    // An optional dependency: without it the claim-and-link commit is used, and attributes are reported as unknown.
    return undefined;
  }
}
