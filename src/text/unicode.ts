import { viewOf } from './buffer-view.ts';

/** How a text is stored: enough to write it back byte for byte. */
export interface TextForm {
  /** Lower case: `utf-8`, `utf-16le`, `utf-16be`, or a legacy name such as `windows-1252`. */
  readonly encoding: string;
  readonly bom: boolean;
}

/** A decoded file; `text` never holds the byte order mark. */
export interface DecodedText extends TextForm {
  readonly text: string;
}

const UTF8: TextForm = { encoding: 'utf-8', bom: false };

/** How far a NUL counts as a sign of UTF-16 or binary: git's own limit, rounded up. */
const SNIFFED_BYTES = 8192;
/** Share of 16-bit units whose high byte is zero below which text without a mark is not taken for UTF-16. */
const MIN_ZERO_SHARE = 0.1;
const BOMS = [
  { encoding: 'utf-8', mark: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', mark: [0xff, 0xfe] },
  { encoding: 'utf-16be', mark: [0xfe, 0xff] },
] as const;

/**
 * Decodes UTF-8 and UTF-16, strictly; undefined for anything else.
 * Never replaces: malformed bytes, lone surrogates and NULs in UTF-16 all mean "not this". UTF-16 without
 * a mark is recognised only when all of it is printable and one of each two bytes is often zero.
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

/** Encodes as UTF-8 or UTF-16; undefined when the text has a lone surrogate, which those cannot hold. */
export function encodeUnicode(text: string, form: TextForm): Uint8Array | undefined {
  const marked = form.bom ? `\ufeff${text}` : text;
  if (form.encoding !== 'utf-8') {
    if (!isWellFormed(marked)) return undefined;
    const units = Buffer.from(marked, 'utf16le');
    return form.encoding === 'utf-16be' ? units.swap16() : units;
  }
  const bytes = Buffer.from(marked, 'utf8');
  // A lone surrogate became U+FFFD: without one in the bytes there is nothing to look for in the text.
  return bytes.includes('\ufffd') && !isWellFormed(marked) ? undefined : bytes;
}

export function isUnicode(encoding: string): boolean {
  return BOMS.some((known) => known.encoding === encoding);
}

/**
 * True when a glance at the beginning is enough to know that this is no text: a NUL, and not UTF-16.
 * False decides nothing; only a whole decode does.
 */
export function looksBinary(bytes: Uint8Array): boolean {
  return hasNul(bytes) && !hasUtf16Mark(bytes) && guessUtf16(bytes) === undefined;
}

/** True for a byte order mark of any kind, whatever follows it. */
export function hasMark(bytes: Uint8Array): boolean {
  return markOf(bytes) !== undefined;
}

export function hasUtf16Mark(bytes: Uint8Array): boolean {
  return markOf(bytes)?.mark.length === 2;
}

export function hasNul(bytes: Uint8Array): boolean {
  return viewOf(bytes.subarray(0, SNIFFED_BYTES)).indexOf(0) !== -1;
}

/** No control characters that text does not use, and nothing a decoder had to replace. */
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
  // Where all but the zeros is plain ASCII, every unit of UTF-16 has one; fewer part names, as those of find -print0 do.
  const ascii = /^[\0\t-\r -~]*$/.test(viewOf(sample).toString('latin1'));
  const enough = ascii ? units : units * MIN_ZERO_SHARE;
  if (even === 0 && odd >= enough) return 'utf-16le';
  return odd === 0 && even >= enough ? 'utf-16be' : undefined;
}
