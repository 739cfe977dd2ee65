import type { IncomingMessage, ServerResponse } from 'node:http';
import { SESSION_KEY } from '../tools/session-choice.ts';
import { namedIn } from './front-address.ts';
import type { InterceptOptions } from './intercept-options.ts';

/** What answers requests that were let in. */
export interface Endpoint {
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/** The choice of a session for requests to `/mcp/NAME`: a request that names its own session keeps it. */
export function namedGate(gate: InterceptOptions, req: IncomingMessage): InterceptOptions {
  const named = namedIn(req);
  if (named.kind !== 'name') return gate;
  return { ...gate, session: (meta) => gate.session({ [SESSION_KEY]: named.name, ...meta }) };
}

/** Under this key the choice of a session sees the session header of an HTTP client, beside the request's `_meta`. */
export const HTTP_SESSION = 'dev.lookfirst/http-session';
