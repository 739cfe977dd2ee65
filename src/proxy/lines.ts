import type { Readable, Writable } from 'node:stream';
import { LineFrames, type LineSink } from '../wire/lines.ts';

/** Each message is one line. This is the longest line accepted, from the client or the server. */
export const MAX_MESSAGE_BYTES: number = 256 * 1024 * 1024;

const NEWLINE = Buffer.from('\n');

interface StreamSink extends LineSink {
  /** Called once when the stream has ended or failed. */
  onEnd(): void;
}

/** Passes the lines of a stream to a sink as they arrive. The last line needs no newline. */
export class LineReader {
  readonly #stream: Readable;
  #ended = false;

  constructor(stream: Readable, reading: StreamSink) {
    this.#stream = stream;
    const frames = new LineFrames(reading);
    const finish = (): void => {
      if (this.#ended) return;
      this.#ended = true;
      frames.end();
      reading.onEnd();
    };
    stream.on('data', (chunk: Buffer) => frames.push(chunk));
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
}

/**
 * Writes lines to a stream. Those of one event loop turn leave together, at its end. Writes to a
 * broken stream are dropped, because its reader is gone.
 */
export class LineWriter {
  readonly #stream: Writable;
  #corked = false;
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

  write(line: Buffer): void {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    if (!this.#corked) {
      this.#corked = true;
      this.#stream.cork();
      process.nextTick(() => {
        this.#corked = false;
        this.#stream.uncork();
      });
    }
    this.#stream.write(line);
    this.#stream.write(NEWLINE);
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
    return new Promise((resolve) => {
      if (this.#stream.destroyed || this.#stream.writableEnded) resolve();
      else this.#stream.write('', () => resolve());
      this.#stream.once('close', () => resolve());
    });
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
