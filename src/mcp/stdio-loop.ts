import type { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { LineFrames } from '../text/frame.ts';
import type { ToolHost } from '../tools/tool-host.ts';
import { type EndSignal, EndSignals } from '../wire/end-signals.ts';
import { JsonText } from '../wire/json-text.ts';
import type { ClientRoots } from './client-roots.ts';
import { Connection } from './connection.ts';
import { type Parts, writeParts } from './outgoing.ts';

/** Why the loop ended. */
export type StdioEnd = 'end-of-input' | 'broken-output' | EndSignal;

export interface StdioOptions {
  readonly host: ToolHost;
  readonly input: Readable;
  readonly output: Writable;
  /** Where the roots of the client go, if the server wants them. */
  readonly roots?: ClientRoots | undefined;
  /** Emits SIGINT, SIGTERM and SIGHUP: `process`. */
  readonly signals: EventEmitter;
  /** For people; never the protocol's stream. */
  readonly log: (line: string) => void;
  /** A longer message is answered with an error. Default 256 MiB, half of what a JavaScript string can hold. */
  readonly maxMessageBytes?: number;
  /** How long running calls may go on after the end of the input before they are cancelled. Default 10 s. */
  readonly finishMs?: number;
  /** How long cancelled calls and unread answers are waited for. Default 2 s. */
  readonly cancelMs?: number;
}

/** No more is read while this much output waits: enough that a client may send first and read later. */
const MAX_WAITING_BYTES = 16 << 20;

/** Room for the answers of one turn; larger ones are made when they are needed. */
const ROOM_BYTES = 16 << 10;
/** More messages do not wait for each other: who reads them may begin while we answer the rest. */
const MAX_TOGETHER = 8;
/** Larger rooms are given up after use. */
const MAX_KEPT_BYTES = 2 << 20;
const MAX_KEPT = 2;

/**
 * Serves a host over a pair of streams until the client goes away or a signal comes. Then running calls are finished
 * (end of input) or cancelled (signal), answers are flushed, and the promise resolves; the caller ends the process. A
 * second signal does not wait. Whatever a client sends, this never rejects.
 */
export async function serveStdio(options: StdioOptions): Promise<StdioEnd> {
  const { host, input, log, maxMessageBytes = 256 << 20 } = options;
  const output = new Output(options.output);
  const connection = new Connection({
    host,
    send: (parts) => output.send(parts),
    log,
    roots: options.roots,
  });
  const frames = new LineFrames({
    maxBytes: maxMessageBytes,
    onLine: (line) => connection.receive(line),
    onTooLong: () => connection.refuseLine(maxMessageBytes),
  });
  const onData = (chunk: Buffer): void => {
    connection.arrived();
    frames.push(chunk);
    if (output.waitingBytes > MAX_WAITING_BYTES) input.pause();
  };
  const onDrain = (): void => {
    input.resume();
  };
  const signals = new EndSignals(options.signals);
  options.output.on('drain', onDrain);
  input.on('data', onData);
  const end = await Promise.race([signals.first, streamsEnd(input, options.output)]);
  input.off('data', onData);
  options.output.off('drain', onDrain);
  if (end === 'end-of-input') frames.end();
  await finish(end, { options, connection, output, hurry: signals.second });
  signals.close();
  input.destroy();
  return end;
}

/** Resolves when the client is gone. */
function streamsEnd(input: Readable, output: Writable): Promise<StdioEnd> {
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error']) input.once(event, () => resolve('end-of-input'));
    // Stays attached for good: a late write to a closed pipe must not become an uncaught exception.
    output.on('error', () => resolve('broken-output'));
  });
}

interface Finishing {
  readonly options: StdioOptions;
  readonly connection: Connection;
  readonly output: Output;
  readonly hurry: AbortSignal;
}

async function finish(end: StdioEnd, { options, connection, output, hurry }: Finishing): Promise<void> {
  const { finishMs = 10_000, cancelMs = 2_000 } = options;
  // With nobody left to read them, answers are not waited for.
  const unread = new Promise<void>((resolve) => options.output.once('error', () => resolve()));
  if (end === 'end-of-input') await within(finishMs, Promise.race([connection.idle(), unread]), hurry);
  connection.cancelAll(end);
  await within(cancelMs, connection.idle(), hurry);
  connection.endSubscriptions();
  await within(cancelMs, output.flush(), hurry);
}

/** Waits for `work`, but not longer than `ms` and not after `hurry`. */
async function within(ms: number, work: Promise<void>, hurry: AbortSignal): Promise<void> {
  if (hurry.aborted) return;
  const enough = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    hurry.addEventListener('abort', () => resolve(), { once: true });
    work.then(() => clearTimeout(timer), resolve);
  });
  await Promise.race([work, enough]);
}

/**
 * Lines to a stream. Messages sent in one turn of the event loop leave in one write; each message goes out whole and
 * never mixed with another. The room they are written into is used again once the stream is done with it: memory that is
 * new for every message costs more than all of its text.
 */
export class Output {
  readonly #stream: Writable;
  readonly #free: JsonText[] = [];
  #filling: JsonText | undefined;
  #messages = 0;
  #writing = 0;
  #waiting: (() => void)[] = [];

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** Bytes accepted by `send` and not yet by the reader. */
  get waitingBytes(): number {
    return this.#stream.writableLength + (this.#filling?.length ?? 0);
  }

  /** Queues one message; a newline is added. */
  send(parts: Parts): void {
    let room = this.#filling;
    if (room === undefined) {
      room = this.#free.pop() ?? new JsonText(ROOM_BYTES);
      this.#filling = room;
      process.nextTick(() => this.#write());
    }
    const before = room.length;
    try {
      writeParts(parts, room);
      room.json('\n');
    } catch (error) {
      // Half a message would make the next one unreadable too.
      room.cut(before);
      throw error;
    }
    this.#messages += 1;
    if (this.#messages === MAX_TOGETHER) this.#write();
  }

  /** Resolves when all that was sent has left the process, or can no longer leave it. */
  async flush(): Promise<void> {
    this.#write();
    if (this.#writing > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #write(): void {
    const room = this.#filling;
    this.#filling = undefined;
    this.#messages = 0;
    if (room === undefined || this.#stream.destroyed) return;
    this.#writing += 1;
    this.#stream.write(room.finish(), () => this.#written(room));
  }

  /** The stream calls back for failed writes too. */
  #written(room: JsonText): void {
    if (room.capacity <= MAX_KEPT_BYTES && this.#free.length < MAX_KEPT) {
      room.cut(0);
      this.#free.push(room);
    }
    this.#writing -= 1;
    if (this.#writing > 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
