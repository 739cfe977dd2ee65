const NEWLINE = 10;

/** Receives the lines of a byte stream. */
export interface LineSink {
  /** Maximum line length. Longer lines are not delivered, and not more than this is held in memory. */
  readonly maxBytes: number;
  /** Receives one line without its newline, never empty. A trailing `\r` is kept, because JSON ignores it. */
  onLine(line: Buffer): void;
  /** Called once per line that exceeds `maxBytes`, as soon as it does. The rest of the line is skipped. */
  onTooLong(): void;
}

/**
 * Splits a byte stream into lines in linear time, regardless of line lengths and chunk sizes. A line within one chunk
 * is delivered as a view of that chunk, without copying.
 */
export class LineFrames {
  readonly #sink: LineSink;
  #parts: Buffer[] = [];
  #heldBytes = 0;
  #skipping = false;

  constructor(sink: LineSink) {
    this.#sink = sink;
  }

  /** Accepts the next chunk and calls the sink before it returns. The caller must not reuse the chunk. */
  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#hold(chunk, from, at);
      this.end();
      from = at + 1;
    }
    this.#hold(chunk, from, chunk.length);
  }

  /** Delivers the buffered rest as a line. Call it at the end of the stream, for a last line without newline. */
  end(): void {
    const [first] = this.#parts;
    const line = this.#parts.length === 1 ? first : Buffer.concat(this.#parts, this.#heldBytes);
    this.#parts = [];
    this.#heldBytes = 0;
    this.#skipping = false;
    if (line !== undefined && line.length > 0) this.#sink.onLine(line);
  }

  #hold(chunk: Buffer, from: number, to: number): void {
    if (from === to || this.#skipping) return;
    this.#heldBytes += to - from;
    if (this.#heldBytes > this.#sink.maxBytes) {
      this.#parts = [];
      this.#heldBytes = 0;
      this.#skipping = true;
      this.#sink.onTooLong();
      return;
    }
    this.#parts.push(chunk.subarray(from, to));
  }
}
