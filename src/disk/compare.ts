import { createHash } from 'node:crypto';
import { closeSync, readSync } from 'node:fs';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Place } from '../model/path.ts';
import { openRegular } from './read.ts';

/** The bytes a file must have; `bytes` spare the hash when the caller still has them. */
export interface Expected {
  readonly fingerprint: Fingerprint;
  readonly bytes?: Uint8Array;
  /** The file may lack write permission: the caller knows that it does, and takes back who made it so. */
  readonly evenReadOnly?: boolean;
}

const CHUNK_BYTES = 1 << 18;
/** One for all: nobody else gets a turn while a file is compared, and new memory each time costs more than comparing. */
let room: Buffer | undefined;

/** True if the open file holds exactly the expected bytes. Nothing but the bytes is believed. */
export function holds(fd: number, expected: Expected): boolean {
  return expected.bytes === undefined
    ? holdsFingerprint(fd, expected.fingerprint)
    : holdsBytes(fd, expected.bytes);
}

/** The same for what has a name: false if that is no regular file. */
export function holdsAt(place: Pick<Place, 'dir' | 'name'>, fingerprint: Fingerprint): boolean {
  const opened = openRegular(place);
  if ('problem' in opened) return false;
  try {
    return holds(opened.fd, { fingerprint });
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

/** Reads a file to its end; false as soon as it is longer than expected, or `agrees` says no, or if it is shorter. */
function readsAs(fd: number, size: number, agrees: (chunk: Buffer, at: number) => boolean): boolean {
  // One byte more than expected, so that a file that has just grown is noticed.
  room ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const chunk = room.subarray(0, Math.min(CHUNK_BYTES, size + 1));
  for (let done = 0; ; ) {
    const count = readSync(fd, chunk, 0, chunk.byteLength, done);
    if (count === 0) return done === size;
    if (done + count > size || !agrees(chunk.subarray(0, count), done)) return false;
    done += count;
    // A short read is the end of a regular file.
    if (count < chunk.byteLength) return done === size;
  }
}
