import type { Readable, Writable } from 'node:stream';
import { getHeapStatistics } from 'node:v8';
import { LineScanner } from './lines.ts';

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
/** Lines that leave together are copied into one buffer up to this size. */
const MAX_COPIED_BYTES = 1 << 16;

interface StreamSink {
  /** Maximum line length. Longer lines are not delivered, and not more than this is held in memory. */
  readonly maxBytes: number;
  /** Receives one line without its newline, never empty. A trailing `\r` is kept, because JSON ignores it. */
  onLine(line: Buffer): void;
  /** Called once per line that exceeds `maxBytes`, as soon as it does. The rest of the line is skipped. */
  onTooLong(): void;
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
    const scanner = new LineScanner({
      maxBytes: reading.maxBytes,
      chunks: 'kept',
      onLine: (bytes, start, end) => {
        if (start < end) reading.onLine(bytes.subarray(start, end));
      },
      onTooLong: () => reading.onTooLong(),
    });
    this.#onData = (chunk) => scanner.scan(chunk);
    const finish = (): void => {
      if (this.#ended) return;
      this.#ended = true;
      // The last line needs no newline.
      const rest = scanner.takeRest();
      if (rest !== undefined) reading.onLine(rest);
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
  /** The lines of this turn of the event loop, each followed by a newline. */
  #lines: Buffer[] = [];
  #bytes = 0;
  #onDrain: (() => void)[] = [];

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on('drain', () => this.#drained());
    stream.on('close', () => this.#drained());
    stream.on('error', () => this.#drained());
  }

  /** True if the reader does not keep up: producers should wait for `whenDrained`. */
  get full(): boolean {
    return this.#stream.writableNeedDrain || this.#bytes >= this.#stream.writableHighWaterMark;
  }

  /** The number of bytes that were written and have not left the stream yet. */
  get waitingBytes(): number {
    return this.#stream.writableLength + this.#bytes;
  }

  write(line: Buffer): void {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    if (this.#lines.length === 0) process.nextTick(() => this.#send());
    this.#bytes += line.length + 1;
    if (this.#lines.push(line, NEWLINE) === MAX_TOGETHER * 2) this.#send();
  }

  whenDrained(then: () => void): void {
    this.#send();
    if (this.full && !this.#stream.destroyed) this.#onDrain.push(then);
    else then();
  }

  end(): void {
    this.#send();
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
    const lines = this.#lines;
    if (lines.length === 0) return;
    const bytes = this.#bytes;
    this.#lines = [];
    this.#bytes = 0;
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    // To copy a few short lines costs less than to pass each to the stream.
    if (bytes <= MAX_COPIED_BYTES) this.#stream.write(Buffer.concat(lines, bytes));
    else {
      this.#stream.cork();
      for (const part of lines) this.#stream.write(part);
      this.#stream.uncork();
    }
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
