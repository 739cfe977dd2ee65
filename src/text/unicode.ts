import { viewOf } from './buffer-view.ts';

/** How a text is stored; enough to write it back byte for byte. */
export interface TextForm {
  /** Lower case: `utf-8`, `utf-16le`, `utf-16be`, or a legacy name such as `windows-1252`. */
  readonly encoding: string;
  readonly bom: boolean;
}

/** A decoded file; `text` never contains the byte order mark. */
export interface DecodedText extends TextForm {
  readonly text: string;
}

const UTF8: TextForm = { encoding: 'utf-8', bom: false };

/** Number of bytes in which a NUL indicates UTF-16 or binary: git's limit, rounded up. */
const SNIFFED_BYTES = 8192;
/** Minimum share of 16-bit units with a zero high byte for text without a mark to count as UTF-16. */
const MIN_ZERO_SHARE = 0.1;
const BOMS = [
  { encoding: 'utf-8', mark: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', mark: [0xff, 0xfe] },
  { encoding: 'utf-16be', mark: [0xfe, 0xff] },
] as const;

/**
 * Decodes UTF-8 and UTF-16 strictly; undefined for anything else. It never substitutes: malformed bytes, lone
 * surrogates and NULs in UTF-16 all return undefined. UTF-16 without a mark is recognised only if all of it is
 * printable and one byte of many pairs is zero.
 */
export function decodeUnicode(bytes: Uint8Array): DecodedText | undefined {
  const marked = markOf(bytes);
  if (marked !== undefined) {
    const text = decodeStrict(bytes.subarray(marked.mark.length), marked.encoding);
    return text === undefined ? undefined : { text, encoding: marked.encoding, bom: true };
  }
  if (!hasNul(bytes)) {
    const text = decodeStrict(bytes, 'utf-8');
    return text === undefined ? undefined : { text, ...UTF8 };
  }
  const encoding = guessUtf16(bytes);
  if (encoding === undefined) return undefined;
  const text = decodeStrict(bytes, encoding);
  return text === undefined || !isPlainText(text) ? undefined : { text, encoding, bom: false };
}

/** Encodes as UTF-8 or UTF-16; undefined if the text has a lone surrogate, which they cannot represent. */
export function encodeUnicode(text: string, form: TextForm): Uint8Array | undefined {
  const marked = form.bom ? `\ufeff${text}` : text;
  if (form.encoding !== 'utf-8') {
    if (!isWellFormed(marked)) return undefined;
    const units = Buffer.from(marked, 'utf16le');
    return form.encoding === 'utf-16be' ? units.swap16() : units;
  }
  const bytes = Buffer.from(marked, 'utf8');
  // Encoding turns a lone surrogate into U+FFFD. If the bytes contain none, the text need not be checked.
  return bytes.includes('\ufffd') && !isWellFormed(marked) ? undefined : bytes;
}

export function isUnicode(encoding: string): boolean {
  return BOMS.some((known) => known.encoding === encoding);
}

/**
 * True if the beginning proves that this is not text: a NUL, and not UTF-16. False proves nothing; only a full decode
 * does.
 */
export function looksBinary(bytes: Uint8Array): boolean {
  return hasNul(bytes) && !hasUtf16Mark(bytes) && guessUtf16(bytes) === undefined;
}

/** True if the bytes begin with any byte order mark. */
export function hasMark(bytes: Uint8Array): boolean {
  return markOf(bytes) !== undefined;
}

export function hasUtf16Mark(bytes: Uint8Array): boolean {
  return markOf(bytes)?.mark.length === 2;
}

export function hasNul(bytes: Uint8Array): boolean {
  return viewOf(bytes.subarray(0, SNIFFED_BYTES)).indexOf(0) !== -1;
}

/** True if the text has no control characters that text does not use, and no replacement characters. */
export function isPlainText(text: string): boolean {
  return !/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]/.test(text);
}

function markOf(bytes: Uint8Array): (typeof BOMS)[number] | undefined {
  return BOMS.find(({ mark }) => mark.every((byte, at) => bytes[at] === byte));
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

function decodeStrict(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
    // A NUL in UTF-16 means UTF-32 or binary.
    return encoding !== 'utf-8' && text.includes('\0') ? undefined : text;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function guessUtf16(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (bytes.length % 2 !== 0) return undefined;
  const sample = bytes.subarray(0, SNIFFED_BYTES);
  let even = 0;
  let odd = 0;
  for (let at = 0; at + 1 < sample.length; at += 2) {
    if (sample[at] === 0) even += 1;
    if (sample[at + 1] === 0) odd += 1;
  }
  const units = Math.floor(sample.length / 2);
  // If everything except the zeros is ASCII, UTF-16 has a zero in every unit. Fewer zeros separate names, as in the
  // output of `find -print0`.
  const ascii = /^[\0\t-\r -~]*$/.test(viewOf(sample).toString('latin1'));
  const enough = ascii ? units : units * MIN_ZERO_SHARE;
  if (even === 0 && odd >= enough) return 'utf-16le';
  return odd === 0 && even >= enough ? 'utf-16be' : undefined;
}
