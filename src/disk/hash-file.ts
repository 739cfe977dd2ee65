import { createHash } from 'node:crypto';
import { closeSync, fstatSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { type Fingerprint, type Stamp, sameStamp } from '../model/fingerprint.ts';
import type { Place } from '../model/path.ts';
import { openRegular, stampOf } from './read.ts';

const readAsync = promisify(read);
const CHUNK_BYTES = 1 << 20;

/** Hashes a file in bounded memory. Undefined if its stamp differs from `stamp` before or after reading. */
export async function fingerprintIfStill(
  place: Place,
  stamp: Stamp,
  signal?: AbortSignal,
): Promise<Fingerprint | undefined> {
  const opened = openRegular(place);
  if ('problem' in opened) return undefined;
  try {
    if (!sameStamp(stampOf(opened.stats), stamp)) return undefined;
    const digest = createHash('sha256');
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    for (let size = 0; ; ) {
      signal?.throwIfAborted();
      const { bytesRead } = await readAsync(opened.fd, chunk, 0, CHUNK_BYTES, size);
      digest.update(chunk.subarray(0, bytesRead));
      size += bytesRead;
      if (bytesRead > 0) continue;
      const unchanged = sameStamp(stampOf(fstatSync(opened.fd, { bigint: true })), stamp);
      return unchanged ? { sha256: digest.digest('hex'), size } : undefined;
    }
  } finally {
    closeSync(opened.fd);
  }
}
