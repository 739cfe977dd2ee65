import type { Readable, Writable } from 'node:stream';
import { LineFrames, type LineSink } from '../text/frame.ts';

/** Messages are lines; this is the longest one taken from either side. */
export const MAX_LINE_BYTES: number = 256 * 1024 * 1024;

const NEWLINE = Buffer.from('\n');
/** Up to here a line and its newline are copied into one buffer: cheaper than two entries of a gathered write. */
const COPY_BYTES = 16 * 1024;

export interface LineReading extends LineSink {
  /** The stream ended or broke; called once. */
  onEnd(): void;
}

/** Feeds the lines of a stream to a sink, as they come. The last line needs no newline. */
export class LineReader {
  readonly #stream: Readable;
  #ended = false;

  constructor(stream: Readable, reading: LineReading) {
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
 * Writes lines to a stream. The first of a turn of the event loop leaves at once, the others together at its end.
 * A broken stream swallows what is written to it: its reader is gone, and the other end learns so from its own stream.
 */
export class LineWriter {
  readonly #stream: Writable;
  #turn: 'none' | 'written' | 'corked' = 'none';
  #passing = false;
  #waiting: Buffer[] = [];
  #onDrain: (() => void)[] = [];

  constructor(stream: Writable) {
    this.#stream = stream;
    stream.on('drain', () => this.#drained());
    stream.on('close', () => this.#drained());
    stream.on('error', () => this.#drained());
  }

  /** The reader does not keep up: whoever produces lines should wait for `whenDrained`. */
  get full(): boolean {
    return this.#stream.writableNeedDrain;
  }

  /** One line; if another is just passing through in pieces, it goes after that. */
  write(line: Buffer): void {
    if (this.#passing) {
      this.#waiting.push(line);
      return;
    }
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    this.#gather();
    if (line.length <= COPY_BYTES) {
      this.#stream.write(Buffer.concat([line, NEWLINE], line.length + 1));
      return;
    }
    this.#stream.cork();
    this.#stream.write(line);
    this.#stream.write(NEWLINE);
    this.#stream.uncork();
  }

  /** A piece of somebody else's line, with its newline if it has one. */
  pass(piece: Buffer): void {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    this.#gather();
    this.#stream.write(piece);
    this.#passing = piece.at(-1) !== NEWLINE[0];
    if (this.#passing || this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const line of waiting) this.write(line);
  }

  whenDrained(then: () => void): void {
    if (this.full && !this.#stream.destroyed) this.#onDrain.push(then);
    else then();
  }

  /** Ends the stream. */
  end(): void {
    if (!this.#stream.destroyed) this.#stream.end();
  }

  /** Resolves when everything written has been handed over, or cannot be any more. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stream.destroyed || this.#stream.writableEnded) resolve();
      else this.#stream.write('', () => resolve());
      this.#stream.once('close', () => resolve());
    });
  }

  /** A single message must not wait, many must not cost a system call each. */
  #gather(): void {
    if (this.#turn === 'none') {
      this.#turn = 'written';
      process.nextTick(() => this.#endTurn());
    } else if (this.#turn === 'written') {
      this.#turn = 'corked';
      this.#stream.cork();
    }
  }

  #endTurn(): void {
    if (this.#turn === 'corked') this.#stream.uncork();
    this.#turn = 'none';
  }

  #drained(): void {
    const waiting = this.#onDrain;
    this.#onDrain = [];
    for (const then of waiting) then();
  }
}

/** Stops reading while the writer is full. Call it after lines were handed on. */
export function holdBack(
  reader: Pick<LineReader, 'pause' | 'resume'>,
  writer: Pick<LineWriter, 'full' | 'whenDrained'>,
): void {
  if (!writer.full) return;
  reader.pause();
  writer.whenDrained(() => reader.resume());
}
