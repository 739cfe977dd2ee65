import { hash } from 'node:crypto';
import type { Fingerprint } from '../model/fingerprint.ts';

export function fingerprintOf(bytes: Uint8Array): Fingerprint {
  return { sha256: hash('sha256', bytes, 'hex'), size: bytes.byteLength };
}
