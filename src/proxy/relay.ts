import type { LineWriter } from './lines.ts';
import { Received } from './received.ts';
import { beginsMessage, isSpace } from './scan.ts';

const NEWLINE = 10;

/** Who says what becomes of the server's messages. */
export interface RelayJudge {
  /** An answer may have to be kept back or rewritten: messages that begin now are put together first. */
  readonly holds: boolean;
  /** Somebody waits for an answer, if only to note it. */
  readonly listens: boolean;
  received(message: Received): void;
  log(text: string): void;
}

/** `pass`: on to the client as it comes. `hold`: put together first. `drop`: no message at all. */
type Mode = 'pass' | 'hold' | 'drop';

/**
 * Passes a server's output on, piece by piece as it comes, so that a large message is not held up by its own size. What
 * becomes of a message is decided where it begins; one that has begun cannot answer a request sent after it.
 */
export class Relay {
  readonly #judge: RelayJudge;
  readonly #client: LineWriter;
  readonly #limit: { readonly maxBytes: number; onTooLong(): void };
  #mode: Mode | undefined;
  #listening = false;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(
    judge: RelayJudge,
    client: LineWriter,
    limit: { readonly maxBytes: number; onTooLong(): void },
  ) {
    this.#judge = judge;
    this.#client = client;
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    const finished: Received[] = [];
    /** Where the bytes begin that are to be passed on; they go out together. */
    let passing = 0;
    for (let from = 0; from < chunk.length; ) {
      this.#mode ??= this.#begin(chunk[from]);
      const newline = chunk.indexOf(NEWLINE, from);
      const end = newline < 0 ? chunk.length : newline + 1;
      if (this.#mode !== 'pass') {
        if (passing < from) this.#client.pass(chunk.subarray(passing, from));
        passing = end;
      }
      this.#take(chunk, from, end);
      if (newline >= 0) this.#finish(finished);
      from = end;
    }
    if (passing < chunk.length) this.#client.pass(passing === 0 ? chunk : chunk.subarray(passing));
    for (const message of finished) this.#judge.received(message);
  }

  #begin(first: number | undefined): Mode {
    this.#listening = this.#judge.listens;
    // What begins with white space shows only later whether it is a message.
    if (isSpace(first)) return 'hold';
    if (!beginsMessage(first)) return 'drop';
    return this.#judge.holds ? 'hold' : 'pass';
  }

  #take(chunk: Buffer, from: number, end: number): void {
    this.#bytes += end - from;
    if (this.#bytes > this.#limit.maxBytes) this.#limit.onTooLong();
    if (this.#mode !== 'pass' || this.#listening) this.#parts.push(chunk.subarray(from, end));
  }

  #finish(finished: Received[]): void {
    const mode = this.#mode;
    const parts = this.#parts;
    this.#mode = undefined;
    this.#parts = [];
    this.#bytes = 0;
    if (parts.length === 0) return;
    const last = parts.length - 1;
    const lines = parts.map((part, index) => (index === last ? part.subarray(0, -1) : part));
    const message = new Received(lines, { forwarded: mode === 'pass' });
    if (mode === 'pass' || (mode === 'hold' && message.begins)) finished.push(message);
    else this.#dropped(message);
  }

  #dropped({ line }: Received): void {
    const text = line.toString('utf8', 0, 200).trim();
    if (text !== '') this.#judge.log(`not a message, dropped: ${text}`);
  }
}
