export const NEWLINE = 10;

interface ScanSink {
  /** Maximum line length. Longer lines are not delivered, and not more than this is held in memory. */
  readonly maxBytes: number;
  /**
   * `reused`: the caller overwrites its chunks after `scan`, so parts of unfinished lines are
   * copied. `kept`: the caller leaves its chunks unchanged, so nothing is copied.
   */
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

  /**
   * Returns and forgets the bytes after the last newline; undefined if there are none, or if they
   * exceed the limit.
   */
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

/**
 * The escape of each byte in a JSON string: 0 = none, 1 = `\u00XX`, otherwise the letter after the
 * backslash.
 */
const ESCAPES: Uint8Array = new Uint8Array(256);
ESCAPES.fill(1, 0, 0x20);
for (const [byte, letter] of [
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [0x22, '"'],
  [0x5c, '\\'],
] as const)
  ESCAPES[byte] = letter.charCodeAt(0);

const BACKSLASH = 0x5c;
const ZERO = 0x30;
const LETTER_T = 0x74;
const LETTER_U = 0x75;
const HEX_DIGITS = '0123456789abcdef';
/** Maximum number of bytes to which escaping expands one byte (`\u001f`). */
const WORST = 6;
/**
 * Size of a block for small texts. A text is escaped block by block, so that room for the worst
 * case is reserved for one block only, not for the whole text.
 */
const SMALL_BLOCK_BYTES = 256;
const BLOCK_BYTES = 4096;
/**
 * Spare bytes at the end of the buffer, because `#block` writes whole words of which it may use
 * only a part.
 */
const WORD_BYTES = 4;

/** The content of a JSON string that is written directly to its destination, so that a large text exists only once. */
export interface Escaped {
  /** Estimated number of bytes. */
  readonly expectedBytes: number;
  writeTo(out: JsonText): void;
}

/**
 * Builds JSON from UTF-8 bytes without decoding them. `bytes` appends what `JSON.stringify` would produce for the
 * decoded text, without the quotes. The caller must ensure that the bytes are valid UTF-8.
 */
export class JsonText {
  #out: Buffer;
  #view: DataView;
  #length = 0;
  /** The current line number while lines are being numbered. */
  #line = 0;

  /** `expectedBytes`: estimated output size; a hint for the first allocation. */
  constructor(expectedBytes: number) {
    this.#out = Buffer.allocUnsafe(roomFor(expectedBytes));
    this.#view = viewOf(this.#out);
  }

  get length(): number {
    return this.#length;
  }

  /** Appends text that is already JSON. */
  json(text: string): this {
    // A UTF-16 unit needs at most three bytes. Counting exactly is worth its cost only for a long
    // text.
    this.#reserve(text.length <= BLOCK_BYTES ? text.length * 3 : Buffer.byteLength(text, 'utf8'));
    this.#length += this.#out.write(text, this.#length, 'utf8');
    return this;
  }

  /** Appends a copy of the output between two offsets. */
  again(from: number, to: number): this {
    this.#reserve(to - from);
    this.#out.copyWithin(this.#length, from, to);
    this.#length += to - from;
    return this;
  }

  /** Appends any JavaScript string. */
  text(text: string): this {
    return this.bytes(Buffer.from(text, 'utf8'));
  }

  /** Appends UTF-8 bytes, escaped. */
  bytes(source: Uint8Array): this {
    this.#line = 0;
    return this.#blocks(source, WORST);
  }

  /**
   * Appends UTF-8 bytes, each line after its number (from `firstNumber`, at least 1) and a tab. A
   * final newline begins one more line.
   */
  numberedLines(source: Uint8Array, firstNumber: number): this {
    // A newline grows most: it becomes an escaped newline, a number and an escaped tab.
    const worst = Math.max(WORST, String(firstNumber + source.length).length + 4);
    this.#line = firstNumber;
    this.#reserve(worst);
    this.#length = putNumber(this.#out, this.#length, firstNumber);
    return this.#blocks(source, worst);
  }

  /** The output, valid until something is appended. */
  finish(): Buffer {
    return this.#out.subarray(0, this.#length);
  }

  #blocks(source: Uint8Array, worst: number): this {
    const input = viewOf(source);
    const block = blockFor(source.length);
    for (let from = 0; from < source.length; from += block) {
      const to = Math.min(from + block, source.length);
      this.#reserve((to - from) * worst + WORD_BYTES);
      this.#block(input, from, to);
    }
    return this;
  }

  /**
   * Escapes words of four bytes. In `special`, the high bit of a byte is set if that byte of the word
   * is below 0x20, a quote or a backslash. The subtraction may also mark the bytes after a marked
   * one, by its borrow, so only the lowest mark counts. Writes each word unchanged, then overwrites
   * it from the marked byte on.
   */
  #block(input: DataView, from: number, to: number): void {
    const out = this.#out;
    const view = this.#view;
    let line = this.#line;
    let end = this.#length;
    let at = from;
    while (at + WORD_BYTES <= to) {
      const word = input.getInt32(at, true);
      const quotes = word ^ 0x22222222;
      const slashes = word ^ 0x5c5c5c5c;
      const special =
        (((word - 0x20202020) & ~word) |
          ((quotes - 0x01010101) & ~quotes) |
          ((slashes - 0x01010101) & ~slashes)) &
        0x80808080;
      view.setInt32(end, word, true);
      if (special === 0) {
        at += WORD_BYTES;
        end += WORD_BYTES;
        continue;
      }
      const plain = (31 - Math.clz32(special & -special)) >> 3;
      at += plain;
      const byte = input.getUint8(at);
      at += 1;
      end = putEscape(out, end + plain, byte);
      if (byte === NEWLINE && line !== 0) end = putNumber(out, end, ++line);
    }
    for (; at < to; at += 1) {
      const byte = input.getUint8(at);
      end = putByte(out, end, byte);
      if (byte === NEWLINE && line !== 0) end = putNumber(out, end, ++line);
    }
    this.#line = line;
    this.#length = end;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#out.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#out.length * 2, this.#length + bytes));
    this.#out.copy(grown, 0, 0, this.#length);
    this.#out = grown;
    this.#view = viewOf(grown);
  }
}

/**
 * A buffer size for a text of this many bytes. It has room for some escapes, and for the worst case
 * in the last block.
 */
function roomFor(bytes: number): number {
  return bytes + (bytes >> 3) + blockFor(bytes) * (WORST + 2);
}

function blockFor(bytes: number): number {
  return bytes <= BLOCK_BYTES ? SMALL_BLOCK_BYTES : BLOCK_BYTES;
}

/**
 * Writes one byte, escaped. Every `put…` function writes at an offset and returns the next free
 * one.
 */
function putByte(out: Uint8Array, at: number, byte: number): number {
  if (ESCAPES[byte] !== 0) return putEscape(out, at, byte);
  out[at] = byte;
  return at + 1;
}

function putEscape(out: Uint8Array, at: number, byte: number): number {
  const letter = ESCAPES[byte] ?? 0;
  out[at] = BACKSLASH;
  if (letter !== 1) {
    out[at + 1] = letter;
    return at + 2;
  }
  out[at + 1] = LETTER_U;
  out[at + 2] = ZERO;
  out[at + 3] = ZERO;
  out[at + 4] = ZERO + (byte >> 4);
  out[at + 5] = HEX_DIGITS.charCodeAt(byte & 15);
  return at + 6;
}

/** Writes a line number and an escaped tab. */
function putNumber(out: Uint8Array, at: number, line: number): number {
  let digits = 1;
  for (let bound = 10; bound <= line; bound *= 10) digits += 1;
  let rest = line;
  for (let place = at + digits - 1; place >= at; place -= 1) {
    const tenth = Math.floor(rest / 10);
    out[place] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
  out[at + digits] = BACKSLASH;
  out[at + digits + 1] = LETTER_T;
  return at + digits + 2;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
