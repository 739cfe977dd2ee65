import { fstatSync } from 'node:fs';
import { readAllSync } from './read.ts';

/**
 * A file of another process above this size gets its name back without a copy of its bytes. Reading
 * the bytes first would leave our file under the target's name for too long.
 */
const COPY_BYTES = 64 << 20;
/** How often, and with which pauses, to read a file that another program is just rewriting. */
const MAX_READS = 20;
const PAUSE_MS = 0.1;
/** After so many bytes in all, the file is not read again: our file has the target's name meanwhile. */
const ENOUGH_BYTES = 4 << 20;
/** Nothing notifies a wait on this, so that the wait is a pause. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

/**
 * The bytes of a file that another program may be writing. Waits a little while the file is empty
 * or changes: a program that rewrites a file empties it first, and its bytes must be in our copy
 * before the file gets its name back. Undefined if the bytes are too many for a copy.
 */
export function settledBytes(fd: number, wait: () => void = pause): Buffer | undefined {
  let total = 0;
  for (let reads = 1; ; reads += 1) {
    const before = fstatSync(fd, { bigint: true });
    const bytes = bytesOf(fd);
    total += bytes?.length ?? 0;
    if (bytes === undefined || reads === MAX_READS || total > ENOUGH_BYTES) return bytes;
    const { size, mtimeNs } = fstatSync(fd, { bigint: true });
    if (size > 0n && size === before.size && mtimeNs === before.mtimeNs) return bytes;
    wait();
  }
}

function pause(): void {
  Atomics.wait(NEVER, 0, 0, PAUSE_MS);
}

/** The bytes of an open file; undefined if they are too many for a copy. */
export function bytesOf(fd: number): Buffer | undefined {
  const { size } = fstatSync(fd);
  return size > COPY_BYTES ? undefined : readAllSync(fd, size);
}
