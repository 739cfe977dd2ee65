import type { IncomingMessage, ServerResponse } from 'node:http';

/** What answers requests that were let in. */
export interface Endpoint {
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/** Under this key the choice of a session sees the session header of an HTTP client, beside the request's `_meta`. */
export const HTTP_SESSION = 'dev.lookfirst/http-session';
