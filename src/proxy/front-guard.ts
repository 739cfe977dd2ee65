import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node';
import { reject } from './front-reply.ts';

/** Lets in who comes from this machine, asks for this machine, and has the token. Answers everybody else itself. */
export function guard(token: string | undefined): (req: IncomingMessage, res: ServerResponse) => boolean {
  const hostOk = localhostHostValidation();
  const originOk = localhostOriginValidation();
  return (req, res) => {
    if (!hostOk(req, res) || !originOk(req, res)) return false;
    if (token === undefined || sameText(bearerOf(req), token)) return true;
    reject(
      res,
      { status: 401, code: -32001, message: 'Unauthorized' },
      { 'www-authenticate': 'Bearer realm="lookfirst"' },
    );
    return false;
  };
}

function bearerOf(req: IncomingMessage): string {
  return /^Bearer +(.+)$/i.exec(req.headers.authorization ?? '')?.[1] ?? '';
}

/** Compares digests, so that neither content nor length shows in the time it takes. */
function sameText(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
