import type { IncomingMessage } from 'node:http';
import { isSessionId } from '../model/session-id.ts';

/** The path at which the gate is served. A client may append `/NAME`, the name of its session. */
export const ENDPOINT_PATH = '/mcp';

/** The session name in a request's path. `none`: no name; `other`: an unknown path. */
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

/**
 * Splits a request's URL into its path and the rest from `?` on. Split manually: clients may send
 * invalid URLs.
 */
export function addressOf({ url = '/' }: IncomingMessage): {
  readonly path: string;
  readonly search: string;
} {
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark) };
}
