import type { Received } from './received.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** What follows a backslash in JSON, and the byte it stands for; 0: none. */
const ESCAPES: Uint8Array = escapes();
/** The beginning of an answer that is one text, in the orders in which servers write it. */
const OPENING =
  /^\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*(?:"[ !#-[\]-~]*"|-?\d+)\s*,\s*)?"result"\s*:\s*\{\s*"content"\s*:\s*\[\s*\{\s*"type"\s*:\s*"text"\s*,\s*"text"\s*:\s*"/;
const IS_ERROR = Buffer.from('"isError"');
const RESULT_TYPE = Buffer.from('"resultType"');
const COMPLETE = Buffer.from('"resultType":"complete"');

/**
 * The text of an answer, still escaped, inside the pieces the answer came in. Comparing it with a file needs neither
 * parsing nor a copy, which for a large file is most of the work.
 */
export class EscapedText {
  readonly #parts: readonly Buffer[];
  readonly #start: number;

  private constructor(received: Received, start: number) {
    this.#parts = received.parts;
    this.#start = start;
  }

  /** Undefined: the answer does not begin like one with a text in it; parse it. */
  static in(received: Received): EscapedText | undefined {
    const opening = OPENING.exec(received.head);
    if (opening === null || opening[0].length > (received.parts[0]?.length ?? 0)) return undefined;
    return new EscapedText(received, opening[0].length);
  }

  /** True only if the answer is a success, has one text and no other content, and that text is exactly these bytes. */
  equals(bytes: Uint8Array): boolean {
    let done = 0;
    let from = this.#start;
    let escaped = false;
    for (const [index, part] of this.#parts.entries()) {
      const { at, matched, open } = compare(part, from, { bytes, done, escaped });
      if (at === undefined) return false;
      if (matched === bytes.length && !open && part[at] === QUOTE) return this.#succeeds(index, at + 1);
      if (at < part.length) return false;
      done = matched;
      escaped = open;
      from = 0;
    }
    return false;
  }

  /** The rest of the answer: no further content, no error, no question instead of an end. */
  #succeeds(index: number, at: number): boolean {
    const rest = [this.#parts[index]?.subarray(at) ?? Buffer.alloc(0), ...this.#parts.slice(index + 1)];
    const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = rest;
    const closing = first.toString('latin1', 0, 16) + second.toString('latin1', 0, 16);
    if (!/^\s*\}\s*\]/.test(closing)) return false;
    if (has(rest, IS_ERROR)) return false;
    return !has(rest, RESULT_TYPE) || has(rest, COMPLETE);
  }
}

/** Compares one piece; `at` undefined: other bytes. `open`: the piece ends after a backslash. */
function compare(
  part: Buffer,
  from: number,
  against: { readonly bytes: Uint8Array; readonly done: number; readonly escaped: boolean },
): { readonly at: number | undefined; readonly matched: number; readonly open: boolean } {
  const { bytes } = against;
  const { length } = part;
  let { done, escaped } = against;
  let at = from;
  for (; at < length && done < bytes.length; at++) {
    let byte = part[at] ?? 0;
    if (escaped) {
      byte = ESCAPES[byte] ?? 0;
      // A character by its number: for the parser.
      if (byte === 0) return { at: undefined, matched: done, open: false };
      escaped = false;
    } else if (byte === BACKSLASH) {
      escaped = true;
      continue;
    } else if (byte === QUOTE) return { at: undefined, matched: done, open: false };
    if (byte !== bytes[done]) return { at: undefined, matched: done, open: false };
    done++;
  }
  return { at, matched: done, open: escaped };
}

/** Whether the pieces hold a word, also where it is cut in two. */
function has(parts: readonly Buffer[], word: Buffer): boolean {
  return parts.some((part, index) => {
    if (part.includes(word)) return true;
    const next = parts[index + 1];
    return (
      next !== undefined &&
      Buffer.concat([part.subarray(-word.length), next.subarray(0, word.length)]).includes(word)
    );
  });
}

function escapes(): Uint8Array {
  const table = new Uint8Array(256);
  const pairs = { '"': 0x22, '\\': 0x5c, '/': 0x2f, b: 0x08, f: 0x0c, n: 0x0a, r: 0x0d, t: 0x09 };
  for (const [letter, byte] of Object.entries(pairs)) table[letter.charCodeAt(0)] = byte;
  return table;
}
