const NEWLINE = 10;

/** What to do with the lines of a byte stream. */
export interface LineSink {
  /** Longer lines are not delivered and not held in memory beyond this. */
  readonly maxBytes: number;
  /** One line without its newline; never empty. A trailing `\r` is kept (JSON ignores it). */
  onLine(line: Buffer): void;
  /** A line ran over `maxBytes`: called once for it, when the limit is passed; the rest of the line is skipped. */
  onTooLong(): void;
}

/**
 * Cuts a byte stream into lines in linear time, however long a line is and however it is chunked.
 * A line that lies in one chunk is handed out as a view of that chunk, without a copy.
 */
export class LineFrames {
  readonly #sink: LineSink;
  #parts: Buffer[] = [];
  #heldBytes = 0;
  #skipping = false;

  constructor(sink: LineSink) {
    this.#sink = sink;
  }

  /** Takes the next chunk; the sink is called before this returns. The chunk must not be reused by the caller. */
  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#hold(chunk, from, at);
      this.end();
      from = at + 1;
    }
    this.#hold(chunk, from, chunk.length);
  }

  /** Ends the current line: delivers what is held. Call it at the end of the stream for a last line without newline. */
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
