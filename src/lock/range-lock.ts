import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { ProcessLock } from './process-lock.ts';

interface NativeLocks {
  tryLock(fd: number, offset: number, length: number, options?: { readonly shared: boolean }): boolean;
  unlock(fd: number, offset: number, length: number): void;
}

const SHARED = { shared: true } as const;

/**
 * Locks one byte of a file per slot in the kernel. Uses open-file-description locks on Linux, which
 * the kernel releases however the process ends. Undefined if the native helper has no build, or the
 * system can lock only whole files.
 */
export function openRangeLock(file: string): ProcessLock | undefined {
  const native = process.platform === 'linux' ? loadNative() : undefined;
  if (native === undefined) return undefined;
  const fd = openSync(file, 'a+', 0o600);
  return {
    tryAcquire: (slot, sharing = 'alone') =>
      sharing === 'alone' ? native.tryLock(fd, slot, 1) : native.tryLock(fd, slot, 1, SHARED),
    release: (slot) => native.unlock(fd, slot, 1),
    close: () => closeSync(fd),
  };
}

function loadNative(): NativeLocks | undefined {
  try {
    // The package is CommonJS without types; `NativeLocks` declares the part we use.
    return createRequire(import.meta.url)('fs-native-extensions') as NativeLocks;
  } catch {
    return undefined;
  }
}
