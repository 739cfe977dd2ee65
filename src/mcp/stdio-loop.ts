import { randomBytes } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { ToolHost } from '../tools/tool-host.ts';
import { type EndSignal, EndSignals } from '../wire/end-signals.ts';
import { JsonText, LineFrames } from '../wire/lines.ts';
import type { ClientRoots } from './client-roots.ts';
import { ClientConnection } from './connection.ts';
import { type Parts, writeParts } from './protocol.ts';

/** The reason the loop ended. */
export type StdioEnd = 'end-of-input' | 'broken-output' | EndSignal;

interface StdioOptions {
  readonly host: ToolHost;
  readonly input: Readable;
  readonly output: Writable;
  /** Receives the client's roots, if the server uses them. */
  readonly roots?: ClientRoots | undefined;
  /** The emitter of SIGINT, SIGTERM and SIGHUP, normally `process`. */
  readonly signals: EventEmitter;
  /** Receives messages for the user; never writes to the protocol's stream. */
  readonly log: (line: string) => void;
  /**
   * The longest message that is read; longer ones are answered with an error. Default 256 MiB, half of the longest
   * JavaScript string.
   */
  readonly maxMessageBytes?: number;
  /** Time that running calls may continue after the end of input before they are cancelled. Default 10 s. */
  readonly finishMs?: number;
  /**
   * Time limit for cancelled calls to end. After that, the client has the same time to read the
   * remaining answers. Default 2 s.
   */
  readonly cancelMs?: number;
}

/**
 * If more than this many bytes of output wait for the client, the server stops reading input until
 * the client has read the output. Large enough for clients that send all their requests before they
 * read.
 */
const MAX_WAITING_BYTES = 16 << 20;

/**
 * Initial buffer size for the answers in one turn of the event loop; larger buffers are allocated
 * on demand.
 */
const ROOM_BYTES = 16 << 10;
/**
 * Maximum number of messages in one write. If one turn of the event loop has more messages, the
 * client can read the first ones while the server answers the rest.
 */
const MAX_TOGETHER = 8;
/** Larger buffers are not reused, so that their memory is freed. */
const MAX_KEPT_BYTES = 2 << 20;
const MAX_KEPT = 2;

/**
 * Serves a host over a pair of streams until the client disconnects or a signal arrives. At the end
 * of input, running calls may finish; a signal cancels them. Then writes the remaining answers and
 * resolves. A second signal skips the waiting. Never rejects.
 */
export async function runStdioLoop(options: StdioOptions): Promise<StdioEnd> {
  const { host, input, log, roots, maxMessageBytes = 256 << 20 } = options;
  const output = new Output(options.output);
  const call: ToolHost['call'] = async (name, args, context) => {
    // Wait for roots that are being fetched: a call after `roots/list_changed` is meant for the new
    // roots.
    await roots?.pending;
    return host.call(name, args, context);
  };
  const connection = new ClientConnection({
    host: { ...host, call },
    send: (parts) => {
      output.send(parts);
      return true;
    },
    log,
    roots,
    inputRead,
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

/**
 * Resolves when the server has read the input that has already arrived. `randomBytes` runs in a
 * worker thread, which takes a moment, so a client that was interrupted between two writes has time
 * for the second one. Then the event loop polls its input once more, between the two immediates.
 */
export function inputRead(): Promise<void> {
  return new Promise((resolve) => randomBytes(1, () => setImmediate(() => setImmediate(resolve))));
}

/** Resolves when the client has disconnected. */
function streamsEnd(input: Readable, output: Writable): Promise<StdioEnd> {
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error']) input.once(event, () => resolve('end-of-input'));
    // This listener is never removed: a late write to a closed pipe must not become an uncaught exception.
    output.on('error', () => resolve('broken-output'));
  });
}

interface FinishInput {
  readonly options: StdioOptions;
  readonly connection: ClientConnection;
  readonly output: Output;
  readonly hurry: AbortSignal;
}

async function finish(end: StdioEnd, { options, connection, output, hurry }: FinishInput): Promise<void> {
  const { finishMs = 10_000, cancelMs = 2_000 } = options;
  // If the output breaks, do not wait for answers.
  const unread = new Promise<void>((resolve) => options.output.once('error', () => resolve()));
  if (end === 'end-of-input') await within(finishMs, Promise.race([connection.idle(), unread]), hurry);
  connection.cancelAll(end);
  await within(cancelMs, connection.idle(), hurry);
  connection.endSubscriptions();
  await within(cancelMs, output.flush(), hurry);
}

/** Waits for `work`, for at most `ms`. Stops waiting when `hurry` is aborted. */
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
 * Writes lines to a stream. Messages sent in one turn of the event loop leave together, at most
 * `MAX_TOGETHER` in one write; each message is written whole. Buffers are reused when the stream is
 * done with them, because allocating one per message costs more than writing its text.
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

  /** The number of bytes that were passed to `send` and are not written to the stream's target yet. */
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
      // Remove the partial message: it would make the next message unreadable.
      room.cut(before);
      throw error;
    }
    this.#messages += 1;
    if (this.#messages === MAX_TOGETHER) this.#write();
  }

  /** Resolves when everything sent has left the process, or can no longer leave it. */
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

  /** Recycles the buffer after a write. The stream also calls this for failed writes. */
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
