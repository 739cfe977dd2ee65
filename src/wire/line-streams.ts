import type { Readable, Writable } from 'node:stream';
import { getHeapStatistics } from 'node:v8';
import { LineFrames, type LineSink } from './lines.ts';

/**
 * Each message is one line. This is the longest line accepted, from the client or the server. In a
 * small heap it is less: to interpret a longer one would end the process.
 */
export const MAX_MESSAGE_BYTES: number = Math.min(
  256 * 1024 * 1024,
  Math.floor(getHeapStatistics().heap_size_limit / 3),
);

const NEWLINE = Buffer.from('\n');
/**
 * Maximum number of lines that leave together. If one turn of the event loop has more, the other
 * side can read the first ones while the rest is made.
 */
const MAX_TOGETHER = 8;

interface StreamSink extends LineSink {
  /** Called once when the stream has ended or failed. */
  onEnd(): void;
}

/** Passes the lines of a stream to a sink as they arrive. The last line needs no newline. */
export class LineReader {
  readonly #stream: Readable;
  readonly #onData: (chunk: Buffer) => void;
  #ended = false;

  constructor(stream: Readable, reading: StreamSink) {
    this.#stream = stream;
    const frames = new LineFrames(reading);
    this.#onData = (chunk) => frames.push(chunk);
    const finish = (): void => {
      if (this.#ended) return;
      this.#ended = true;
      frames.end();
      reading.onEnd();
    };
    stream.on('data', this.#onData);
    stream.on('end', finish);
    stream.on('error', finish);
    stream.on('close', finish);
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    if (!this.#ended) this.#stream.resume();
  }

  /** Delivers nothing more, not even the end. An incomplete line is dropped. */
  stop(): void {
    this.#ended = true;
    this.#stream.off('data', this.#onData);
  }
}

/**
 * Writes lines to a stream. Those of one event loop turn leave together, at its end, but at most
 * `MAX_TOGETHER`. Writes to a broken stream are dropped, because its reader is gone.
 */
export class LineWriter {
  readonly #stream: Writable;
  /** The number of lines that leave together at the end of this turn of the event loop. */
  #together = 0;
  #onDrain: (() => void)[] = [];

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on('drain', () => this.#drained());
    stream.on('close', () => this.#drained());
    stream.on('error', () => this.#drained());
  }

  /** True if the reader does not keep up: producers should wait for `whenDrained`. */
  get full(): boolean {
    return this.#stream.writableNeedDrain;
  }

  /** The number of bytes that were written to the stream and have not left it yet. */
  get waitingBytes(): number {
    return this.#stream.writableLength;
  }

  write(line: Buffer): void {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    if (this.#together === 0) {
      this.#stream.cork();
      process.nextTick(() => this.#send());
    }
    this.#stream.write(line);
    this.#stream.write(NEWLINE);
    this.#together += 1;
    if (this.#together === MAX_TOGETHER) this.#send();
  }

  whenDrained(then: () => void): void {
    if (this.full && !this.#stream.destroyed) this.#onDrain.push(then);
    else then();
  }

  end(): void {
    if (!this.#stream.destroyed) this.#stream.end();
  }

  /** Resolves when the system has accepted everything written, or when the stream is broken. */
  flushed(): Promise<void> {
    this.#send();
    return new Promise((resolve) => {
      if (this.#stream.destroyed || this.#stream.writableEnded) resolve();
      else this.#stream.write('', () => resolve());
      this.#stream.once('close', () => resolve());
    });
  }

  #send(): void {
    if (this.#together > 0) this.#stream.uncork();
    this.#together = 0;
  }

  #drained(): void {
    const waiting = this.#onDrain;
    this.#onDrain = [];
    for (const then of waiting) then();
  }
}

/** Pauses reading while the writer is full. Call it after forwarding lines. */
export function holdBack(
  reader: Pick<LineReader, 'pause' | 'resume'>,
  writer: Pick<LineWriter, 'full' | 'whenDrained'>,
): void {
  if (!writer.full) return;
  reader.pause();
  writer.whenDrained(() => reader.resume());
}
