import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A token nobody can guess: 256 bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Whether an `Authorization` header carries this token as `Bearer`. The comparison takes the same time for every wrong one. */
export function carriesToken(authorization: string | undefined, token: string): boolean {
  const [, given = ''] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  // Digests, so that neither content nor length shows in the time it takes.
  return given !== '' && timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
