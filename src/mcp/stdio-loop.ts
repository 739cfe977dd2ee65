import type { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { ToolHost } from '../tools/tool-host.ts';
import { type EndSignal, EndSignals } from '../wire/end-signals.ts';
import { LineReader, LineWriter, MAX_MESSAGE_BYTES } from '../wire/line-streams.ts';
import type { ClientRoots } from './client-roots.ts';
import { ClientConnection } from './connection.ts';
import { messageBytes } from './protocol.ts';

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
 * Serves a host over a pair of streams until the client disconnects or a signal arrives. At the end
 * of input, running calls may finish; a signal cancels them. Then writes the remaining answers and
 * resolves. A second signal skips the waiting. Never rejects.
 */
export async function runStdioLoop(options: StdioOptions): Promise<StdioEnd> {
  const { host, input, log, roots, maxMessageBytes = MAX_MESSAGE_BYTES } = options;
  const output = new LineWriter(options.output);
  const connection = new ClientConnection({
    host,
    send: (parts) => {
      output.write(messageBytes(parts));
      return true;
    },
    log,
    roots,
    inputRead,
  });
  const signals = new EndSignals(options.signals);
  // This listener is never removed: a late write to a closed pipe must not become an uncaught exception.
  const broken = new Promise<'broken-output'>((resolve) => {
    options.output.on('error', () => resolve('broken-output'));
  });
  let reader: LineReader | undefined;
  const ended = new Promise<'end-of-input'>((resolve) => {
    reader = new LineReader(input, {
      maxBytes: maxMessageBytes,
      onLine: (line) => {
        connection.receive(line);
        if (output.waitingBytes <= MAX_WAITING_BYTES) return;
        input.pause();
        output.whenDrained(() => input.resume());
      },
      onTooLong: () => connection.refuseLine(maxMessageBytes),
      onEnd: () => resolve('end-of-input'),
    });
  });
  const end = await Promise.race([signals.first, ended, broken]);
  reader?.stop();
  await finish(end, { options, connection, output, broken, hurry: signals.second });
  signals.close();
  input.destroy();
  return end;
}

/** Resolves when the event loop has polled its input once more, between the two immediates. */
export function inputRead(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

interface FinishInput {
  readonly options: StdioOptions;
  readonly connection: ClientConnection;
  readonly output: LineWriter;
  /** Resolves when the output is broken: then nobody reads the answers. */
  readonly broken: Promise<unknown>;
  readonly hurry: AbortSignal;
}

async function finish(
  end: StdioEnd,
  { options, connection, output, broken, hurry }: FinishInput,
): Promise<void> {
  const { finishMs = 10_000, cancelMs = 2_000 } = options;
  if (end === 'end-of-input') await within(finishMs, Promise.race([connection.idle(), broken]), hurry);
  connection.cancelAll(end);
  await within(cancelMs, connection.idle(), hurry);
  connection.endSubscriptions();
  await within(cancelMs, output.flushed(), hurry);
}

/** Waits for `work`, for at most `ms`. Stops waiting when `hurry` is aborted. */
async function within(ms: number, work: Promise<unknown>, hurry: AbortSignal): Promise<void> {
  if (hurry.aborted) return;
  const enough = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    hurry.addEventListener('abort', () => resolve(), { once: true });
    work.then(() => clearTimeout(timer), resolve);
  });
  await Promise.race([work, enough]);
}
