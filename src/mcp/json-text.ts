/** Per byte: 0 = goes as it is, 1 = `\u00XX`, else the letter after the backslash. */
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
const LETTER_N = 0x6e;
const LETTER_T = 0x74;
/** One byte becomes at most six (`\u001f`). */
const WORST = 6;
/** Room for the worst case is kept for one block at a time, not for the whole text. */
const BLOCK_BYTES = 256;

/**
 * Builds the inside of a JSON string from UTF-8 bytes, without decoding them: what comes out is what
 * `JSON.stringify` would give for the decoded text. The bytes must be valid UTF-8; that is the caller's to check.
 */
export class JsonText {
  #out: Buffer;
  #view: DataView;
  #length = 0;
  /** The number of the current line while lines are being numbered. */
  #line = 0;

  /** `expectedBytes`: about how much will be written; a hint for the first allocation. */
  constructor(expectedBytes: number) {
    const lastBlock = BLOCK_BYTES * (WORST + 2);
    this.#out = Buffer.allocUnsafe(expectedBytes + (expectedBytes >> 3) + lastBlock);
    this.#view = viewOf(this.#out);
  }

  /** Appends text that needs no escape: ASCII without quotes, backslashes and control characters. */
  plain(ascii: string): this {
    this.#reserve(ascii.length);
    this.#length += this.#out.write(ascii, this.#length, 'latin1');
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

  /** Appends UTF-8 bytes, each line after its number (from `firstNumber`, at least 1) and a tab. A final newline begins one more line. */
  numberedLines(source: Uint8Array, firstNumber: number): this {
    // A newline becomes an escape, a number and an escaped tab.
    const worst = Math.max(WORST, String(firstNumber + source.length).length + 4);
    this.#line = firstNumber;
    this.#reserve(worst);
    this.#length = this.#putNumber(this.#length);
    return this.#blocks(source, worst);
  }

  /** What was built. The text must not be added to afterwards. */
  finish(): Buffer {
    return this.#out.subarray(0, this.#length);
  }

  #blocks(source: Uint8Array, worst: number): this {
    const input = viewOf(source);
    for (let from = 0; from < source.length; from += BLOCK_BYTES) {
      const to = Math.min(from + BLOCK_BYTES, source.length);
      this.#reserve((to - from) * worst);
      this.#block(source, input, { from, to });
    }
    return this;
  }

  /**
   * Four bytes at a time where none of the four needs an escape: the three sums set the high bit of a byte that is
   * below 0x20, a quote or a backslash. They may also flag its neighbour, which then takes the slow way unchanged.
   */
  #block(source: Uint8Array, input: DataView, { from, to }: { from: number; to: number }): void {
    const view = this.#view;
    let at = from;
    let end = this.#length;
    for (; at + 4 <= to; at += 4) {
      const word = input.getInt32(at, true);
      const quotes = word ^ 0x22222222;
      const slashes = word ^ 0x5c5c5c5c;
      const special =
        ((word - 0x20202020) & ~word) |
        ((quotes - 0x01010101) & ~quotes) |
        ((slashes - 0x01010101) & ~slashes);
      if ((special & 0x80808080) === 0) {
        view.setInt32(end, word, true);
        end += 4;
      } else {
        end = this.#putByte(source[at] ?? 0, end);
        end = this.#putByte(source[at + 1] ?? 0, end);
        end = this.#putByte(source[at + 2] ?? 0, end);
        end = this.#putByte(source[at + 3] ?? 0, end);
      }
    }
    for (; at < to; at += 1) end = this.#putByte(source[at] ?? 0, end);
    this.#length = end;
  }

  #putByte(byte: number, at: number): number {
    const out = this.#out;
    const letter = ESCAPES[byte] ?? 0;
    if (letter === 0) {
      out[at] = byte;
      return at + 1;
    }
    if (letter === 1) return at + out.write(`\\u00${byte < 16 ? '0' : ''}${byte.toString(16)}`, at, 'latin1');
    out[at] = BACKSLASH;
    out[at + 1] = letter;
    if (letter !== LETTER_N || this.#line === 0) return at + 2;
    this.#line += 1;
    return this.#putNumber(at + 2);
  }

  /** The line's number and an escaped tab. */
  #putNumber(at: number): number {
    const out = this.#out;
    const line = this.#line;
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

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#out.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#out.length * 2, this.#length + bytes));
    this.#out.copy(grown, 0, 0, this.#length);
    this.#out = grown;
    this.#view = viewOf(grown);
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
