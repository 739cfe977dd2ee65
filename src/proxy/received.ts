import { isRecord, type JsonRecord } from '../model/record.ts';
import { beginsMessage, parseLine, skipSpace } from '../wire/rpc.ts';

/** Number of bytes examined at each end of a message; longer than any usual id. */
const WINDOW = 256;

/**
 * One message from the server, in the pieces in which it arrived. The pieces are joined only on
 * demand, because joining a large message costs as much as forwarding it.
 */
export class Received {
  readonly parts: readonly Buffer[];
  /** True if the client already has the message. */
  readonly forwarded: boolean;
  #line: Buffer | undefined;

  constructor(parts: readonly Buffer[], options: { readonly forwarded: boolean }) {
    this.parts = parts;
    this.forwarded = options.forwarded;
  }

  static whole(line: Buffer): Received {
    return new Received([line], { forwarded: false });
  }

  get line(): Buffer {
    const [only] = this.parts;
    this.#line ??= this.parts.length === 1 && only !== undefined ? only : Buffer.concat(this.parts);
    return this.#line;
  }

  /** True if the message begins like JSON-RPC, after any white space. */
  get begins(): boolean {
    const [first = Buffer.alloc(0)] = this.parts;
    return beginsMessage(first, 0) === true || beginsMessage(this.line, skipSpace(this.line, 0)) === true;
  }

  /** The beginning of the message, which shows its kind without parsing all of it. */
  get head(): string {
    const first = this.parts[0] ?? Buffer.alloc(0);
    const enough = first.length >= WINDOW || this.parts.length === 1;
    return (enough ? first : this.line).toString('latin1', 0, WINDOW);
  }

  /** The last bytes of the message, which may hold its id. */
  get tail(): string {
    const last = this.parts.at(-1) ?? Buffer.alloc(0);
    const enough = last.length >= WINDOW || this.parts.length === 1;
    const source = enough ? last : this.line;
    return source.toString('latin1', Math.max(0, source.length - WINDOW));
  }

  parse(): JsonRecord | undefined {
    const parsed = parseLine(this.line);
    return isRecord(parsed) ? parsed : undefined;
  }
}

/** Code that waits for the answer to one request. */
export interface AnswerWaiter {
  /** True if the client must not get the answer before `take`, which may hold it back or rewrite it. */
  readonly holds: boolean;
  /** Receives the answer, and forwards it to the client unless that has already happened. */
  take(received: Received): void;
}

/** The connections to the client and to the upstream, for the code that judges calls. */
export interface Wire {
  toUpstream(line: Buffer): void;
  /** Returns false if the line is lost, because the client has disconnected. */
  toClient(line: Buffer): boolean;
  /** Registers a waiter for the upstream's answer to this id. */
  expect(key: string, awaiting: AnswerWaiter): void;
  /** Removes the waiter: answers to this id go to the client again. */
  forget(key: string): void;
}
