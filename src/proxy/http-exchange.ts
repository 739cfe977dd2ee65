import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { readBody } from '../wire/http.ts';
import type { Headers } from '../wire/http-headers.ts';

/** One request and its response; `abort` ends it at any time. */
export interface Exchange {
  readonly response: Promise<IncomingMessage>;
  abort(): void;
}

interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Headers;
  readonly body?: Buffer;
}

const REDIRECTS = 3;

/** An HTTP client without time limits: a tool may take any time, and an event stream has no end. */
export class HttpClient {
  readonly #http = new HttpAgent({ keepAlive: true });
  readonly #https = new HttpsAgent({ keepAlive: true });

  send(request: ExchangeRequest): Exchange {
    let current: { destroy(): void } | undefined;
    let aborted = false;
    const go = (url: URL, left: number): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const secure = url.protocol === 'https:';
        const sent = (secure ? requestHttps : requestHttp)(
          url,
          { method: request.method, headers: request.headers, agent: secure ? this.#https : this.#http },
          (response) => {
            const next = left > 0 ? redirectOf(url, response) : undefined;
            if (next === undefined || aborted) resolve(response);
            else {
              response.resume();
              resolve(go(next, left - 1));
            }
          },
        );
        current = sent;
        sent.on('error', reject);
        sent.end(request.body);
      });
    return {
      response: go(request.url, REDIRECTS),
      abort: () => {
        aborted = true;
        current?.destroy();
      },
    };
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

/**
 * The target of a redirect that keeps method and body. Undefined for a redirect to another origin,
 * because that origin would get our headers.
 */
function redirectOf(from: URL, response: IncomingMessage): URL | undefined {
  if (response.statusCode !== 307 && response.statusCode !== 308) return undefined;
  const { location } = response.headers;
  if (location === undefined || !URL.canParse(location, from.href)) return undefined;
  const to = new URL(location, from);
  return to.origin === from.origin ? to : undefined;
}

/** The whole body of an answer; rejects if it exceeds the limit. */
export async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const body = await readBody(response, maxBytes);
  if (body !== undefined) return body;
  response.destroy();
  throw new Error(`the answer has more than ${maxBytes} bytes`);
}
