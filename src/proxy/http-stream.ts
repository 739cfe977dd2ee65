import type { IncomingMessage } from 'node:http';
import { isRecord } from '../model/record.ts';
import { idKey, idKeyOfText, parseLine } from './rpc.ts';
import { idIn, isPlainlyResponse } from './scan.ts';
import { EventParser } from './sse.ts';

export interface ServerStreamOptions {
  readonly maxBytes: number;
  /** The key of the request this stream answers; undefined: it answers none and is kept open. */
  readonly awaits: string | undefined;
  onLine(line: Buffer): void;
  /** Connects again after an event; undefined: the server will not have it. */
  again(lastEventId: string | undefined): Promise<IncomingMessage | undefined>;
}

const RETRIES = 5;
const RETRY_MS = 1000;

/** One event stream, connected again while that makes sense: to go on after an event, or because it is to stay open. */
export class ServerStream {
  readonly #options: ServerStreamOptions;
  #response: IncomingMessage | undefined;
  #lastEventId: string | undefined;
  #retryMs = RETRY_MS;
  #answered = false;
  #stopped = false;
  #wake: () => void = () => {};

  constructor(options: ServerStreamOptions) {
    this.#options = options;
  }

  /** Resolves when the stream is over: true if what it awaits has come. */
  async run(first: IncomingMessage): Promise<boolean> {
    let response: IncomingMessage | undefined = first;
    for (let failures = 0; failures < RETRIES && !this.#stopped; failures++) {
      if (response !== undefined) {
        await this.#read(response);
        failures = 0;
      }
      if (this.#answered || !this.#resumable()) break;
      await this.#pause();
      if (this.#stopped) break;
      response = await this.#options.again(this.#lastEventId).catch(() => undefined);
    }
    return this.#answered;
  }

  stop(): void {
    this.#stopped = true;
    this.#response?.destroy();
    this.#wake();
  }

  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  #resumable(): boolean {
    return this.#options.awaits === undefined || this.#lastEventId !== undefined;
  }

  #read(response: IncomingMessage): Promise<void> {
    this.#response = response;
    const parser = new EventParser({
      maxBytes: this.#options.maxBytes,
      onEvent: ({ id, type, data }) => {
        if (id !== undefined) this.#lastEventId = id;
        if (data.length === 0 || (type !== '' && type !== 'message')) return;
        this.#answered ||= this.#isAnswer(data);
        this.#options.onLine(data);
      },
      onRetry: (ms) => {
        this.#retryMs = ms;
      },
      onTooLong: () => response.destroy(),
    });
    return new Promise((resolve) => {
      response.on('data', (chunk: Buffer) => parser.push(chunk));
      response.on('close', () => resolve());
      response.on('error', () => resolve());
    });
  }

  #isAnswer(line: Buffer): boolean {
    const { awaits } = this.#options;
    if (awaits === undefined) return false;
    const id = idIn(line);
    if (id !== undefined && isPlainlyResponse(line.toString('latin1', 0, 256)))
      return idKeyOfText(id) === awaits;
    const message = parseLine(line);
    return isRecord(message) && message['method'] === undefined && idKey(message['id']) === awaits;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#retryMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
