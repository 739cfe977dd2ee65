import type { ServerResponse } from 'node:http';
import { fieldOf, type JsonRecord } from '../model/record.ts';
import { parseLine } from './rpc.ts';

/** A client must not wait for headers for long; then they go out, and the answer comes as an event. */
const HEADERS_AFTER_MS = 5000;

/** How HTTP says what these errors say; every other answer is a 200. */
const STATUS: Readonly<Record<number, number>> = {
  [-32700]: 400,
  [-32600]: 400,
  [-32601]: 404,
  [-32020]: 400,
  [-32021]: 400,
  [-32022]: 400,
};

export interface ReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** Errors get a status of their own: only in the era that says so. */
  readonly modern: boolean;
  /** Begin with a stream, as servers of the old era do for clients that take one. */
  readonly streams: boolean;
}

/** The answer to one posted request: JSON if it is all there is to say, a stream of events if something comes before. */
export class Reply {
  readonly #response: ServerResponse;
  readonly #options: ReplyOptions;
  readonly #timer: NodeJS.Timeout;
  #streaming = false;

  constructor(response: ServerResponse, options: ReplyOptions) {
    this.#response = response;
    this.#options = options;
    this.#timer = setTimeout(() => this.#open(), HEADERS_AFTER_MS);
    if (options.streams) this.#open();
  }

  /** Called when the client goes away before its answer. */
  onGone(gone: () => void): void {
    this.#response.once('close', () => {
      clearTimeout(this.#timer);
      if (!this.#response.writableFinished) gone();
    });
  }

  /** Something that is not the answer. */
  event(line: Buffer): void {
    this.#open();
    writeEvent(this.#response, line);
  }

  finish(line: Buffer): void {
    clearTimeout(this.#timer);
    if (this.#streaming) {
      writeEvent(this.#response, line);
      this.#response.end();
      return;
    }
    const code = this.#options.modern ? fieldOf(parseLine(line), 'error.code') : undefined;
    const status = typeof code === 'number' ? (STATUS[code] ?? 200) : 200;
    this.#response.writeHead(status, {
      ...this.#options.headers,
      'content-type': 'application/json',
      'content-length': line.length,
    });
    this.#response.end(line);
  }

  #open(): void {
    clearTimeout(this.#timer);
    if (this.#streaming || this.#response.destroyed) return;
    this.#streaming = true;
    openStream(this.#response, this.#options.headers);
  }
}

export function openStream(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  response.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();
}

export function writeEvent(response: ServerResponse, line: Buffer): void {
  response.cork();
  response.write('event: message\ndata: ');
  response.write(line);
  response.write('\n\n');
  response.uncork();
}

/** A plain error answer, as JSON-RPC where the reader may expect it. */
export function reject(
  response: ServerResponse,
  error: {
    readonly status: number;
    readonly code: number;
    readonly message: string;
    readonly id?: unknown;
    readonly data?: JsonRecord;
  },
  headers: Readonly<Record<string, string>> = {},
): void {
  const { status, id = null, ...rest } = error;
  response.writeHead(status, { ...headers, 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, error: rest }));
}
