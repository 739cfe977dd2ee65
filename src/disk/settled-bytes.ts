import { fstatSync } from 'node:fs';
import { readAllSync } from './read.ts';

/**
 * A file of another process above this size gets its name back without a copy of its bytes. Reading
 * the bytes first would leave our file under the target's name for too long.
 */
const COPY_BYTES = 64 << 20;
/** How often, and with which pause, to read a file that another program is just rewriting. */
const MAX_READS = 20;
const PAUSE_MS = 0.1;
/** Nothing notifies a wait on this, so that the wait is a pause. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

/**
 * The bytes of a file that another program may be writing. While the file is empty or changes, waits
 * a little: a program that rewrites a file empties it first, and its bytes must be in our copy
 * before the file gets its name back.
 */
export function settledBytes(fd: number, wait: () => void = pause): Buffer | undefined {
  let bytes = bytesOf(fd);
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const again = bytesOf(fd);
    if (bytes === undefined || again === undefined) return again;
    if (again.length > 0 && again.equals(bytes)) return again;
    wait();
    bytes = again;
  }
  return bytes;
}

function pause(): void {
  Atomics.wait(NEVER, 0, 0, PAUSE_MS);
}

/** The bytes of an open file; undefined if they are too many for a copy. */
export function bytesOf(fd: number): Buffer | undefined {
  const { size } = fstatSync(fd);
  return size > COPY_BYTES ? undefined : readAllSync(fd, size);
}
