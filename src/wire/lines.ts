export const NEWLINE = 10;

interface ScanSink {
  /** Maximum line length. Longer lines are not delivered, and not more than this is held in memory. */
  readonly maxBytes: number;
  /** `reused`: the caller reuses its chunks. Parts of a line that wait for its end are then copied. */
  readonly chunks: 'kept' | 'reused';
  /** Receives each line: its start and end in `bytes`, without its newline. */
  onLine(bytes: Buffer, start: number, end: number): void;
  /** Called once per line that exceeds `maxBytes`, as soon as it does. The rest of the line is skipped. */
  onTooLong(): void;
}

/**
 * Splits a byte stream into lines in linear time, regardless of line lengths and chunk sizes. A line within one chunk
 * is delivered as a part of that chunk, without copying.
 */
export class LineScanner {
  readonly #sink: ScanSink;
  #parts: Buffer[] = [];
  #held = 0;
  #tooLong = false;
  #offset = 0;

  constructor(sink: ScanSink) {
    this.#sink = sink;
  }

  /** Offset of the incomplete last line, from the first byte scanned. */
  get offset(): number {
    return this.#offset;
  }

  /** Accepts the next chunk and calls the sink before it returns. */
  scan(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#line(chunk, start, end);
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  /** Returns and forgets the bytes after the last newline; undefined if there are none, or too many. */
  takeRest(): Buffer | undefined {
    const rest = this.#tooLong || this.#held === 0 ? undefined : this.#joined();
    this.#offset += this.#held;
    this.#forget();
    return rest;
  }

  #line(chunk: Buffer, start: number, end: number): void {
    if (this.#held === 0 && end - start <= this.#sink.maxBytes) {
      this.#sink.onLine(chunk, start, end);
      this.#offset += end - start + 1;
      return;
    }
    if (start < end) this.#grow(chunk.subarray(start, end));
    const length = this.#held;
    const line = this.#tooLong ? undefined : this.#joined();
    this.#forget();
    if (line !== undefined) this.#sink.onLine(line, 0, length);
    this.#offset += length + 1;
  }

  #hold(bytes: Buffer): void {
    this.#grow(this.#sink.chunks === 'reused' ? Buffer.from(bytes) : bytes);
  }

  #grow(bytes: Buffer): void {
    this.#held += bytes.length;
    if (this.#tooLong) return;
    this.#parts.push(bytes);
    if (this.#held <= this.#sink.maxBytes) return;
    this.#tooLong = true;
    this.#parts = [];
    this.#sink.onTooLong();
  }

  #joined(): Buffer {
    const [only] = this.#parts;
    return this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts, this.#held);
  }

  #forget(): void {
    this.#parts = [];
    this.#held = 0;
    this.#tooLong = false;
  }
}

/** Receives the lines of a byte stream. */
export interface LineSink extends Pick<ScanSink, 'maxBytes' | 'onTooLong'> {
  /** Receives one line without its newline, never empty. A trailing `\r` is kept, because JSON ignores it. */
  onLine(line: Buffer): void;
}

/** Splits a byte stream into messages, one per line. Empty lines are skipped. */
export class LineFrames {
  readonly #sink: LineSink;
  readonly #scanner: LineScanner;

  constructor(sink: LineSink) {
    this.#sink = sink;
    this.#scanner = new LineScanner({
      maxBytes: sink.maxBytes,
      chunks: 'kept',
      onLine: (bytes, start, end) => {
        if (start < end) sink.onLine(bytes.subarray(start, end));
      },
      onTooLong: () => sink.onTooLong(),
    });
  }

  /** Accepts the next chunk and calls the sink before it returns. The caller must not reuse the chunk. */
  push(chunk: Buffer): void {
    this.#scanner.scan(chunk);
  }

  /** Delivers the buffered rest as a line. Call it at the end of the stream, for a last line without newline. */
  end(): void {
    const rest = this.#scanner.takeRest();
    if (rest !== undefined) this.#sink.onLine(rest);
  }
}
