import { fstatSync, readSync } from 'node:fs';
import { type Fingerprint, sameFingerprint } from '../model/fingerprint.ts';
import { fingerprintOf } from './hash.ts';
import { readAllSync } from './read.ts';

/** The bytes a file must have; `bytes` spare the hash when the caller still has them. */
export interface Expected {
  readonly fingerprint: Fingerprint;
  readonly bytes?: Uint8Array;
}

const CHUNK_BYTES = 1 << 18;

/** True if the open file holds exactly the expected bytes. Nothing but the bytes is believed. */
export function holds(fd: number, expected: Expected): boolean {
  const size = Number(fstatSync(fd, { bigint: true }).size);
  if (size !== expected.fingerprint.size) return false;
  return expected.bytes === undefined
    ? sameFingerprint(fingerprintOf(readAllSync(fd, size)), expected.fingerprint)
    : holdsBytes(fd, expected.bytes);
}

function holdsBytes(fd: number, bytes: Uint8Array): boolean {
  // One byte more than expected, so that a file that has just grown is noticed.
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytes.byteLength + 1));
  for (let done = 0; ; ) {
    const count = readSync(fd, chunk, 0, chunk.byteLength, done);
    if (count === 0) return done === bytes.byteLength;
    if (done + count > bytes.byteLength) return false;
    if (chunk.compare(bytes, done, done + count, 0, count) !== 0) return false;
    done += count;
    if (done === bytes.byteLength && count < chunk.byteLength) return true;
  }
}
