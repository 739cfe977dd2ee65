import type { IncomingMessage } from 'node:http';
import { isSessionId } from '../model/session-id.ts';

/** Where the gate is served; a client may add `/NAME`, which names its session. */
export const ENDPOINT_PATH = '/mcp';

/** The session that a request's path names; `none`: it names none, `other`: nothing is served there. */
export function namedIn(
  req: IncomingMessage,
): { readonly kind: 'none' | 'other' } | { kind: 'name'; name: string } {
  const { path } = addressOf(req);
  if (path === ENDPOINT_PATH) return { kind: 'none' };
  const name = path.startsWith(`${ENDPOINT_PATH}/`)
    ? decoded(path.slice(ENDPOINT_PATH.length + 1))
    : undefined;
  return isSessionId(name) ? { kind: 'name', name } : { kind: 'other' };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The path of a request and what follows it, `?` included. By hand: what clients may send need not be an address. */
export function addressOf({ url = '/' }: IncomingMessage): {
  readonly path: string;
  readonly search: string;
} {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark) };
}
