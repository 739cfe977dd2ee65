import type { IncomingMessage, ServerResponse } from 'node:http';
import { SESSION_KEY } from '../tools/session-choice.ts';
import { namedIn } from './front-address.ts';
import type { InterceptOptions } from './intercept-options.ts';

/** Answers requests that passed the access checks. */
export interface Endpoint {
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/**
 * Adds the session name of `/mcp/NAME` to the choice of a session; a request that names its own
 * session keeps it.
 */
export function namedGate(gate: InterceptOptions, req: IncomingMessage): InterceptOptions {
  const named = namedIn(req);
  if (named.kind !== 'name') return gate;
  return { ...gate, session: (meta) => gate.session({ [SESSION_KEY]: named.name, ...meta }) };
}

/**
 * The key that passes an HTTP client's session header to the choice of a session, beside the
 * request's `_meta`.
 */
export const HTTP_SESSION = 'dev.lookfirst/http-session';
