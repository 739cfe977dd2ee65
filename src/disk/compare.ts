import { createHash } from 'node:crypto';
import { closeSync, readSync } from 'node:fs';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Place } from '../model/path.ts';
import { openRegular, readAllSync } from './read.ts';

/** The bytes a file must have. `bytes` saves hashing if the caller still has them. */
export interface Expected {
  readonly fingerprint: Fingerprint;
  readonly bytes?: Uint8Array;
  /** Accept a file without write permission: the caller knows about it and restores the mode itself. */
  readonly evenReadOnly?: boolean;
}

const CHUNK_BYTES = 1 << 18;
/**
 * One shared buffer. Comparing is synchronous, so calls never overlap, and allocating costs more
 * than comparing.
 */
const ROOM = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/** True if the open file holds exactly the expected bytes. Compares only bytes, never times or sizes alone. */
export function holds(fd: number, expected: Expected): boolean {
  return expected.bytes === undefined
    ? holdsFingerprint(fd, expected.fingerprint)
    : holdsBytes(fd, expected.bytes);
}

/** Like `holds`, for a place. False if it is not a regular file. */
export function holdsAt(place: Pick<Place, 'dir' | 'name'>, fingerprint: Fingerprint): boolean {
  const opened = openRegular(place);
  if ('problem' in opened) return false;
  try {
    return holds(opened.fd, { fingerprint });
  } finally {
    closeSync(opened.fd);
  }
}

/** True if the place is a regular file of at most `maxBytes` that contains the text. */
export function containsAt(place: Pick<Place, 'dir' | 'name'>, text: string, maxBytes: number): boolean {
  const opened = openRegular(place);
  if ('problem' in opened) return false;
  try {
    const size = Number(opened.stats.size);
    return size <= maxBytes && readAllSync(opened.fd, size).includes(text);
  } finally {
    closeSync(opened.fd);
  }
}

function holdsBytes(fd: number, bytes: Uint8Array): boolean {
  return readsAs(fd, bytes.byteLength, (chunk, at) =>
    chunk.equals(bytes.subarray(at, at + chunk.byteLength)),
  );
}

function holdsFingerprint(fd: number, { sha256, size }: Fingerprint): boolean {
  const digest = createHash('sha256');
  const read = readsAs(fd, size, (chunk) => {
    digest.update(chunk);
    return true;
  });
  return read && digest.digest('hex') === sha256;
}

/** Reads a file to its end. False if its length differs from `size` or `agrees` rejects a chunk. */
function readsAs(fd: number, size: number, agrees: (chunk: Buffer, at: number) => boolean): boolean {
  // Read one byte more than expected, to notice a file that has just grown.
  const chunk = ROOM.subarray(0, Math.min(CHUNK_BYTES, size + 1));
  for (let done = 0; ; ) {
    const count = readSync(fd, chunk, 0, chunk.byteLength, done);
    if (count === 0) return done === size;
    if (done + count > size || !agrees(chunk.subarray(0, count), done)) return false;
    done += count;
    // A short read is the end of a regular file.
    if (count < chunk.byteLength) return done === size;
  }
}
