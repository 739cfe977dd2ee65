import { createHash, hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { Fingerprint } from '../model/fingerprint.ts';

const CHUNK_BYTES = 1 << 20;

export function fingerprintOf(bytes: Uint8Array): Fingerprint {
  return { sha256: hash('sha256', bytes, 'hex'), size: bytes.byteLength };
}

/** Hashes an open file from its beginning in bounded memory. */
export async function fingerprintOfHandle(handle: FileHandle, signal?: AbortSignal): Promise<Fingerprint> {
  const digest = createHash('sha256');
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  let size = 0;
  for (;;) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, size);
    if (bytesRead === 0) return { sha256: digest.digest('hex'), size };
    digest.update(chunk.subarray(0, bytesRead));
    size += bytesRead;
  }
}
