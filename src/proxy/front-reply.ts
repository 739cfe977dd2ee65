import type { ServerResponse } from 'node:http';
import { fieldOf, type JsonRecord } from '../model/record.ts';
import { parseLine } from './rpc.ts';

/**
 * After this time the headers are sent, so that the client does not time out, and the answer
 * follows as an event.
 */
const HEADERS_AFTER_MS = 5000;

/** The HTTP status for JSON-RPC errors; every other answer is a 200. */
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
  /** Errors get their own HTTP status, which only the modern era defines. */
  readonly modern: boolean;
  /** Begin with a stream, as servers of the old era do for clients that accept one. */
  readonly streams: boolean;
}

/**
 * The answer to one posted request: JSON if there is only the answer, an event stream if other
 * messages precede it.
 */
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

  /** Calls `gone` if the client disconnects before its answer. */
  onGone(gone: () => void): void {
    this.#response.once('close', () => {
      clearTimeout(this.#timer);
      if (!this.#response.writableFinished) gone();
    });
  }

  /** Sends a message that is not the answer. */
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

/** Sends an error as a JSON-RPC answer. */
export function rejectFront(
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
