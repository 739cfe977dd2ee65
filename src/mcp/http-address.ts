import { isSessionId } from '../model/session-id.ts';

/** Where the server is; a client may add `/NAME`, which names its session. */
export const MCP_PATH = '/mcp';

/** What a request's path asks for. */
export type Address =
  | { readonly kind: 'mcp'; readonly session: string | undefined }
  | { readonly kind: 'other' };

/** Reads the path of a request: `/mcp`, `/mcp/NAME`, or another one. */
export function addressOf(url: string | undefined): Address {
  // By hand: what clients may send as a path need not be one that a URL parser takes.
  const [path = '/'] = (url ?? '/').split('?');
  if (path === MCP_PATH) return { kind: 'mcp', session: undefined };
  if (!path.startsWith(`${MCP_PATH}/`)) return { kind: 'other' };
  const name = decoded(path.slice(MCP_PATH.length + 1));
  return isSessionId(name) ? { kind: 'mcp', session: name } : { kind: 'other' };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
