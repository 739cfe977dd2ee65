export const NEWLINE = 10;

/** Maximum line length. Longer lines are skipped without buffering, and counted. */
export const MAX_LINE_BYTES: number = 64 * 1024 * 1024;

/** Receives each complete line: its start and end in `bytes`, without its newline. */
export type OnLine = (bytes: Buffer, start: number, end: number) => void;

/**
 * Splits a stream of bytes into lines, regardless of chunk sizes. Buffers only the incomplete last line, and nothing of
 * a line that is too long.
 */
export class LineScanner {
  readonly #onLine: OnLine;
  readonly #onTooLong: () => void;
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #held = 0;
  #tooLong = false;
  #offset = 0;

  constructor(onLine: OnLine, onTooLong: () => void, maxBytes: number = MAX_LINE_BYTES) {
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
    this.#maxBytes = maxBytes;
  }

  /** Offset of the incomplete last line, from the first byte scanned. */
  get offset(): number {
    return this.#offset;
  }

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
    const rest = this.#tooLong || this.#held === 0 ? undefined : Buffer.concat(this.#parts);
    if (this.#tooLong) this.#onTooLong();
    this.#offset += this.#held;
    this.#forget();
    return rest;
  }

  #line(chunk: Buffer, start: number, end: number): void {
    const length = this.#held + end - start;
    if (this.#tooLong || length > this.#maxBytes) this.#onTooLong();
    else if (this.#held === 0) this.#onLine(chunk, start, end);
    else this.#onLine(Buffer.concat([...this.#parts, chunk.subarray(start, end)]), 0, length);
    this.#offset += length + 1;
    this.#forget();
  }

  #hold(bytes: Buffer): void {
    this.#held += bytes.length;
    if (this.#held > this.#maxBytes) {
      this.#tooLong = true;
      this.#parts = [];
    }
    // Copy, because the caller may reuse its buffer.
    if (!this.#tooLong) this.#parts.push(Buffer.from(bytes));
  }

  #forget(): void {
    this.#parts = [];
    this.#held = 0;
    this.#tooLong = false;
  }
}
