import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** An unguessable token of 256 bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Whether an `Authorization` header carries this token as `Bearer`. The comparison takes the same time for every wrong
 * token.
 */
export function carriesToken(authorization: string | undefined, token: string): boolean {
  const [, given = ''] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  // Compares digests, so that the time reveals neither content nor length.
  return given !== '' && timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
