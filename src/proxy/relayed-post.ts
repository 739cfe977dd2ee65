import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isRecord } from '../model/record.ts';
import { openStream, rejectFront } from './front-reply.ts';
import { bodyOf, type Exchange, mediaType } from './http-exchange.ts';
import type { InterceptOptions } from './intercept-options.ts';
import { Pump } from './pump.ts';
import { idKey, parseLine } from './rpc.ts';
import { EventParser, onOneLine, type ServerEvent } from './sse.ts';

export interface RelayedPostOptions {
  readonly res: ServerResponse;
  readonly maxBytes: number;
  /** A disconnect cancels the request, which only the modern era defines. */
  readonly modern: boolean;
  readonly gate: InterceptOptions;
  /** Sends the client's request to the server with this message as its body. */
  send(line: Buffer): Exchange;
}

/** One posted message that the gate reads, and everything the server returns for it. */
export class RelayedPost {
  readonly #options: RelayedPostOptions;
  readonly #pump: Pump;
  #exchange: Exchange | undefined;
  #response: IncomingMessage | undefined;
  #body: Buffer | undefined;
  #event: ServerEvent | undefined;
  #sent: Promise<void> = Promise.resolve();

  constructor(options: RelayedPostOptions) {
    this.#options = options;
    this.#pump = new Pump(
      {
        toUpstream: (line) => {
          this.#sent = this.#send(line);
        },
        toClient: (line) => this.#toClient(line),
      },
      options.gate,
    );
  }

  /** Resolves when the client has its answer or has disconnected. */
  async run(line: Buffer): Promise<void> {
    const { res, modern } = this.#options;
    if (modern)
      res.once('close', () => {
        if (!res.writableFinished) void this.close();
      });
    this.#pump.fromClient(line);
    await this.#pump.idle();
    await this.#sent;
    await this.#pump.close();
    // Nothing was forwarded: the message concerned only the gate.
    if (!res.headersSent && this.#exchange === undefined) res.statusCode = 202;
    if (!res.writableEnded) res.end();
  }

  /** Handles the client's cancellation. The server receives it too, and ends the exchange. */
  async cancelled(): Promise<void> {
    await this.#pump.close();
    if (this.#exchange === undefined) this.#options.res.end();
  }

  /** Aborts the exchange after the client has disconnected. */
  async close(): Promise<void> {
    this.#exchange?.abort();
    await this.#pump.close();
  }

  async #send(line: Buffer): Promise<void> {
    if (this.#exchange !== undefined) return;
    this.#exchange = this.#options.send(line);
    try {
      const response = await this.#exchange.response;
      this.#response = response;
      if (mediaType(response) === 'text/event-stream') await this.#stream(response);
      else await this.#whole(response);
    } catch (error) {
      this.#options.gate.log(`the server cannot be reached: ${String(error)}`);
      const { res } = this.#options;
      if (!res.headersSent && !res.destroyed)
        rejectFront(res, { status: 502, code: -32603, message: 'the server cannot be reached' });
    }
  }

  async #whole(response: IncomingMessage): Promise<void> {
    const body = await bodyOf(response, this.#options.maxBytes);
    const parsed = parseLine(body);
    if (Array.isArray(parsed) || (isRecord(parsed) && idKey(parsed['id']) !== undefined)) {
      this.#body = body;
      this.#pump.fromUpstream(onOneLine(body));
      return this.#pump.idle();
    }
    this.#options.res.writeHead(response.statusCode ?? 502, headersBack(response));
    this.#options.res.end(body);
  }

  #stream(response: IncomingMessage): Promise<void> {
    const parser = new EventParser({
      maxBytes: this.#options.maxBytes,
      onEvent: (event) => this.#onEvent(event),
      onRetry: (ms) => {
        this.#openStream();
        this.#options.res.write(`retry: ${ms}\n`);
      },
      onTooLong: () => response.destroy(),
    });
    return new Promise((resolve) => {
      response.on('data', (chunk: Buffer) => parser.push(chunk));
      response.on('close', () => resolve(this.#pump.idle()));
      response.on('error', () => resolve(this.#pump.idle()));
    });
  }

  #onEvent(event: ServerEvent): void {
    this.#event = event;
    this.#openStream();
    const isMessage = event.data.length > 0 && (event.type === '' || event.type === 'message');
    if (isMessage) this.#pump.fromUpstream(event.data);
    else this.#writeEvent(event.data);
  }

  #toClient(line: Buffer): void {
    const { res } = this.#options;
    if (res.destroyed || res.writableEnded) return;
    if (this.#event !== undefined) {
      this.#writeEvent(line);
      return;
    }
    // An unchanged answer is returned exactly as it arrived, including line breaks.
    const body = this.#body !== undefined && line.equals(onOneLine(this.#body)) ? this.#body : line;
    const headers = this.#response === undefined ? {} : headersBack(this.#response);
    res.writeHead(this.#response?.statusCode ?? 200, {
      'content-type': 'application/json',
      ...headers,
      'content-length': body.length,
    });
    res.end(body);
  }

  #openStream(): void {
    const { res } = this.#options;
    if (!res.headersSent && !res.destroyed)
      openStream(res, this.#response === undefined ? {} : headersBack(this.#response));
  }

  /** Writes the current event with the server's id and type. */
  #writeEvent(data: Buffer): void {
    const { res } = this.#options;
    const { id, type } = this.#event ?? { id: undefined, type: '' };
    res.cork();
    if (id !== undefined) res.write(`id: ${id}\n`);
    if (type !== '') res.write(`event: ${type}\n`);
    res.write('data: ');
    res.write(data);
    res.write('\n\n');
    res.uncork();
  }
}

/** Headers that concern one connection, not the message. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'proxy-authorization',
  'host',
  'content-length',
  'expect',
]);

/** The server's headers that apply to the answer on our connection. */
export function headersBack(response: IncomingMessage): Record<string, string> {
  const headers: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(response.headers))
    if (!HOP_BY_HOP.has(name) && value !== undefined) headers[name] = value;
  // The cast is safe: Node joins multi-valued headers except Set-Cookie, and the protocol does not use cookies.
  return headers as Record<string, string>;
}
