import type { ServerResponse } from 'node:http';
import { fieldOf } from '../../model/record.ts';
import { INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, parseLine } from '../rpc.ts';
import { openStream, writeMessage } from '../sse.ts';

/**
 * If the answer takes longer than this, the server sends the headers without it, so that the client
 * does not time out. The answer then follows as an event.
 */
const HEADERS_AFTER_MS = 5000;

/** Longer answers are no errors, so their HTTP status is known without parsing them. */
const MAX_ERROR_BYTES = 64 * 1024;

/** The HTTP status by JSON-RPC error code. Other codes, and results, get status 200. */
const STATUS: Readonly<Record<number, number>> = {
  [PARSE_ERROR]: 400,
  [INVALID_REQUEST]: 400,
  [METHOD_NOT_FOUND]: 404,
  [-32020]: 400,
  [-32021]: 400,
  [-32022]: 400,
};

interface ReplyOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** True for MCP revision 2026-07-28, in which errors have their own HTTP status. */
  readonly modern: boolean;
  /**
   * True if the answer is an event stream from the start. Servers of earlier revisions send one to
   * each client that accepts it.
   */
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
    writeMessage(this.#response, line);
  }

  finish(line: Buffer): void {
    clearTimeout(this.#timer);
    if (this.#streaming) {
      writeMessage(this.#response, line);
      this.#response.end();
      return;
    }
    const isShort = line.length <= MAX_ERROR_BYTES;
    const code = this.#options.modern && isShort ? fieldOf(parseLine(line), 'error.code') : undefined;
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
