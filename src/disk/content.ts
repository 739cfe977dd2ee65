import { createHash } from 'node:crypto';
import { closeSync, readSync } from 'node:fs';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Place } from '../model/path.ts';
import { fingerprintOf, openRegular, readAllSync } from './read.ts';

/**
 * The content of a new file, in one of two forms: bytes in memory, or chunks of a file too large to
 * load. Reading the chunks fails if they do not match the fingerprint (hash and size).
 */
export type Content =
  | { readonly bytes: Uint8Array; readonly fingerprint?: Fingerprint }
  | {
      readonly bytes?: undefined;
      readonly fingerprint: Fingerprint;
      readonly chunks: () => AsyncIterable<Uint8Array>;
    };

export function fingerprintOfContent(content: Content): Fingerprint {
  return content.bytes === undefined
    ? content.fingerprint
    : (content.fingerprint ?? fingerprintOf(content.bytes));
}

/** True if the open file holds exactly this content. */
export function holdsContent(fd: number, content: Content): boolean {
  const fingerprint = fingerprintOfContent(content);
  return holds(fd, content.bytes === undefined ? { fingerprint } : { fingerprint, bytes: content.bytes });
}

/**
 * The bytes that a file must have. If the caller still has them in memory, it passes `bytes`, and
 * the file need not be hashed.
 */
export interface Expected {
  readonly fingerprint: Fingerprint;
  readonly bytes?: Uint8Array;
  /** Set if the file may be replaced or removed although it is read-only. */
  readonly evenReadOnly?: boolean;
}

const CHUNK_BYTES = 1 << 18;
/**
 * All comparisons share this buffer. They are synchronous, so they never overlap, and allocating a
 * buffer costs more than comparing.
 */
const ROOM = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/**
 * True if the open file holds exactly the expected bytes. Compares the bytes or their hash: equal
 * times and sizes are no proof.
 */
export function holds(fd: number, expected: Expected): boolean {
  return expected.bytes === undefined
    ? holdsFingerprint(fd, expected.fingerprint)
    : holdsBytes(fd, expected.bytes);
}

/** True if the place (a name in an open folder) is a regular file with exactly these bytes. */
export function holdsAt(place: Pick<Place, 'dir' | 'name' | 'opensOwn'>, fingerprint: Fingerprint): boolean {
  const opened = openRegular(place);
  if ('problem' in opened) return false;
  try {
    return holds(opened.fd, { fingerprint });
  } finally {
    closeSync(opened.fd);
  }
}

/** The bytes of a regular file; undefined if the place is none, or cannot be opened. `too-large`: over `maxBytes`. */
export function bytesOfSmall(
  place: Pick<Place, 'dir' | 'name'>,
  maxBytes: number,
): Buffer | 'too-large' | undefined {
  const opened = openRegular(place);
  if ('problem' in opened) return undefined;
  try {
    const size = Number(opened.stats.size);
    return size > maxBytes ? 'too-large' : readAllSync(opened.fd, size);
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
