import type { analyse } from 'chardet';
import type iconv from 'iconv-lite';
import { endingUsed, viewOf, withEnding } from './lines.ts';

/** An encoding is guessed from at most this many bytes. Guessing takes half a second per megabyte. */
const SAMPLE_BYTES = 64 * 1024;
/**
 * At most this many of the encodings that the detector clearly prefers are tried, before all
 * others. Each one costs a decode and an encode of the whole file.
 */
const MAX_CANDIDATES = 4;
/**
 * A text with at most this share of non-ASCII bytes counts as Western. Exception: the detector
 * clearly prefers another encoding (see `SURER`).
 */
const MAX_HIGH_SHARE = 0.3;
/**
 * The detector's guess of an encoding counts only if the text has at least this many non-ASCII
 * bytes: `single` for a single-byte encoding, `multi` for a multi-byte one. With fewer bytes, almost
 * any encoding would fit. Western encodings may be tried without such a guess.
 */
const MIN_HIGH_BYTES = { single: 8, multi: 16 } as const;
/** Percentage points by which the detector must prefer another encoding over a Western one. */
const SURER = 10;
const MIN_MULTI_BYTE_CONFIDENCE = 50;
const WESTERN = ['windows-1252', 'iso-8859-1'] as const;
const MULTI_BYTE = /^(?:shift_jis|euc-|big5|gb|iso-2022)/;
/**
 * The Windows superset of each ISO encoding. The superset is tried first: the encoding is guessed
 * from a sample, and characters that only the superset has may occur after the sample.
 */
const SUPERSETS: Readonly<Record<string, string>> = {
  'iso-8859-1': 'windows-1252',
  'iso-8859-9': 'windows-1254',
};

/** The packages that know older encodings. */
export interface LegacyCodecs {
  readonly analyse: typeof analyse;
  readonly iconv: typeof iconv;
}

/**
 * The loader of the packages for older encodings. Module state, set once, because this folder does no I/O and cannot
 * load packages itself.
 */
let codecs: (() => LegacyCodecs) | undefined;

/**
 * Registers the loader of the packages for older encodings. They are loaded at the first file that
 * is not Unicode, because loading takes 14 to 30 ms of CPU and most sessions never meet such a
 * file. `disk/` calls this: this folder does no I/O.
 */
export function provideLegacyCodecs(load: () => LegacyCodecs): void {
  codecs = load;
}

function loaded(): LegacyCodecs {
  if (codecs === undefined) throw new TypeError('provideLegacyCodecs must be called first');
  return codecs();
}

interface Match {
  readonly name: string;
  readonly confidence: number;
}

/**
 * Decodes a file without loss. Returns undefined if that is impossible: the file then counts as
 * binary.
 * - With a byte order mark: UTF-8 or UTF-16.
 * - With a NUL near the beginning: UTF-16.
 * - Otherwise: strict UTF-8, or a legacy encoding that restores the same bytes.
 */
export function decodeText(bytes: Uint8Array): DecodedText | undefined {
  const decoded = decodeUnicode(bytes);
  if (decoded !== undefined) return decoded;
  return hasNul(bytes) || hasMark(bytes) ? undefined : decodeLegacy(bytes);
}

/** Encodes a text in the form of another (`like`). Undefined if that form cannot represent it (an emoji in Latin-1). */
export function encodeText(text: string, like: TextForm): Uint8Array | undefined {
  return isUnicode(like.encoding) ? encodeUnicode(text, like) : encodeLegacy(text, like.encoding);
}

/**
 * Decodes text in a legacy encoding, or returns undefined. The encoding's name is a guess from a sample, but encoding
 * the text again certainly restores the same bytes.
 */
function decodeLegacy(bytes: Uint8Array): DecodedText | undefined {
  const buffer = viewOf(bytes);
  // Reject control bytes without decoding: all accepted encodings extend ASCII, so these bytes are
  // control characters in each of them.
  if (/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]/.test(buffer.toString('latin1'))) return undefined;
  const { iconv } = loaded();
  for (const encoding of candidates(sampleOf(buffer))) {
    const text = iconv.decode(buffer, encoding, { stripBOM: false });
    if (isPlainText(text) && iconv.encode(text, encoding).equals(buffer))
      return { text, encoding, bom: false };
  }
  return undefined;
}

/** Encodes in a legacy encoding. Undefined if the encoding lacks a character, or if its name is unknown. */
function encodeLegacy(text: string, encoding: string): Uint8Array | undefined {
  const { iconv } = loaded();
  if (!iconv.encodingExists(encoding)) return undefined;
  const bytes = iconv.encode(text, encoding);
  return iconv.decode(bytes, encoding, { stripBOM: false }) === text ? bytes : undefined;
}

/**
 * Encodings to try, most likely first. Western encodings are among them if the text is mostly
 * ASCII, if the detector considers them possible, or if the text is too short for the detector.
 */
function candidates(sample: Buffer): string[] {
  const { analyse, iconv } = loaded();
  const high = sample.filter((byte) => byte >= 0x80).byteLength;
  const matches = analyse(sample)
    .map(({ name, confidence }) => ({ name: name.toLowerCase(), confidence }))
    .filter(({ name }) => !name.startsWith('utf-') && iconv.encodingExists(name));
  const western = Math.max(0, ...matches.filter(isWestern).map(({ confidence }) => confidence));
  const believed = matches
    .filter((match) => !isWestern(match) && isClearlySurer(match, { high, western }))
    .flatMap(({ name }) => [SUPERSETS[name] ?? name, name]);
  const mostlyAscii = high <= MAX_HIGH_SHARE * sample.byteLength;
  // A text without any ASCII character does not count as short: all its bytes help to guess the encoding.
  const isShort = high < MIN_HIGH_BYTES.multi && high < sample.byteLength;
  // These guesses need no limit: the detector knows only about 25 encodings, and only a few of them
  // fit a given text.
  const others = mostlyAscii ? [] : matches.filter((match) => high >= minHighBytes(match));
  return [
    ...new Set([
      ...believed.slice(0, MAX_CANDIDATES),
      ...(mostlyAscii || western > 0 || isShort ? WESTERN : []),
      ...others.map(({ name }) => name),
    ]),
  ];
}

/** The minimum number of non-ASCII bytes from which this guess of the detector is trusted. */
function minHighBytes({ name }: Match): number {
  return MULTI_BYTE.test(name) ? MIN_HIGH_BYTES.multi : MIN_HIGH_BYTES.single;
}

function isWestern({ name }: Match): boolean {
  return WESTERN.some((western) => western === name);
}

function isClearlySurer(
  match: Match,
  { high, western }: { readonly high: number; readonly western: number },
): boolean {
  const { name, confidence } = match;
  if (high < minHighBytes(match)) return false;
  const multi = MULTI_BYTE.test(name);
  return confidence >= western + SURER && (!multi || confidence >= MIN_MULTI_BYTE_CONFIDENCE);
}

/** A sample that begins at the line of the first non-ASCII byte. Earlier lines do not help the detector. */
function sampleOf(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte >= 0x80);
  const line = bytes.lastIndexOf(0x0a, first) + 1;
  return bytes.subarray(line, line + SAMPLE_BYTES);
}

const NEWLINE = 10;
const RETURN = 13;

/**
 * The form in which a whole file is stored: its encoding and byte order mark, and whether all of its lines end in CRLF.
 */
interface FileForm extends TextForm {
  readonly crlf: boolean;
}

/**
 * Encodes a new whole text in the form of the file it replaces: byte order mark, UTF-16, CRLF.
 * Undefined if the file has none of these (the caller then writes the text as it is), or if the
 * text has a lone surrogate. If the text itself begins with a byte order mark, no second one is
 * added.
 */
export function bytesInFormOf(existing: Uint8Array, text: string): Uint8Array | undefined {
  const form = specialForm(existing);
  if (form === undefined) return undefined;
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  const bom = form.bom || body !== text;
  return encodeUnicode(form.crlf ? withEnding(body, '\r\n') : body, { encoding: form.encoding, bom });
}

/**
 * The form of a file with a byte order mark, in UTF-16 or with CRLF. Undefined for all other files,
 * most of which are recognised without decoding.
 */
function specialForm(bytes: Uint8Array): FileForm | undefined {
  const marked = hasMark(bytes) || hasNul(bytes);
  if (!marked && !beginsWithCrlf(bytes)) return undefined;
  const decoded = decodeUnicode(bytes);
  if (decoded === undefined) return legacyForm(bytes);
  const crlf = endingUsed(decoded.text) === '\r\n';
  const { encoding, bom } = decoded;
  return bom || crlf || encoding !== 'utf-8' ? { encoding, bom, crlf } : undefined;
}

/**
 * The form for a text that replaces a file in a legacy encoding: UTF-8 with CRLF. The legacy
 * encoding is not kept, because the new text may have characters that it lacks. Undefined for other
 * line endings and for binary files.
 */
function legacyForm(bytes: Uint8Array): FileForm | undefined {
  if (hasNul(bytes) || endingUsed(viewOf(bytes).toString('latin1')) !== '\r\n') return undefined;
  return { encoding: 'utf-8', bom: false, crlf: true };
}

function beginsWithCrlf(bytes: Uint8Array): boolean {
  const newline = viewOf(bytes).indexOf(NEWLINE);
  return newline > 0 && bytes[newline - 1] === RETURN;
}

/** The form in which a text is stored; enough to write it back byte for byte. */
interface TextForm {
  /** Lower case: `utf-8`, `utf-16le`, `utf-16be`, or a legacy name such as `windows-1252`. */
  readonly encoding: string;
  readonly bom: boolean;
}

/** A decoded file; `text` never contains the byte order mark. */
export interface DecodedText extends TextForm {
  readonly text: string;
}

const UTF8: TextForm = { encoding: 'utf-8', bom: false };

/**
 * A NUL among this many first bytes means that a file is UTF-16 or binary. This is git's limit,
 * rounded up.
 */
const SNIFFED_BYTES = 8192;
/**
 * Text without a byte order mark counts as UTF-16 only if at least this share of its 16-bit units
 * has a zero byte.
 */
const MIN_ZERO_SHARE = 0.1;
/** Without a byte order mark, fewer 16-bit units are no proof of UTF-16. */
const MIN_UNITS = 4;
const BOMS = [
  { encoding: 'utf-8', mark: [0xef, 0xbb, 0xbf] },
  { encoding: 'utf-16le', mark: [0xff, 0xfe] },
  { encoding: 'utf-16be', mark: [0xfe, 0xff] },
] as const;

/**
 * Decodes UTF-8 and UTF-16 strictly. Returns undefined for anything else, including malformed
 * bytes, lone surrogates, and UTF-16 with NULs. Without a byte order mark, a file counts as UTF-16
 * only if its text is printable and many of its 16-bit units contain a zero byte.
 */
function decodeUnicode(bytes: Uint8Array): DecodedText | undefined {
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
function encodeUnicode(text: string, form: TextForm): Uint8Array | undefined {
  const marked = form.bom ? `\ufeff${text}` : text;
  if (form.encoding !== 'utf-8') {
    if (!marked.isWellFormed()) return undefined;
    const units = Buffer.from(marked, 'utf16le');
    return form.encoding === 'utf-16be' ? units.swap16() : units;
  }
  return marked.isWellFormed() ? Buffer.from(marked, 'utf8') : undefined;
}

function isUnicode(encoding: string): boolean {
  return BOMS.some((known) => known.encoding === encoding);
}

/**
 * True if the beginning of a file proves that the file is not text: the beginning has a NUL and is
 * not UTF-16. False proves nothing: only a full decode shows that a file is text.
 */
export function looksBinary(bytes: Uint8Array): boolean {
  return hasNul(bytes) && !hasUtf16Mark(bytes) && guessUtf16(bytes) === undefined;
}

/**
 * True if users could not read a diff of these bytes: they are binary, or compressed data without a NUL, such as git
 * objects.
 */
export function hasNoLines(bytes: Uint8Array): boolean {
  if (looksBinary(bytes)) return true;
  const start = viewOf(bytes.subarray(0, SNIFFED_BYTES));
  return !hasUtf16Mark(bytes) && UNUSED_CONTROLS.test(start.toString('latin1')) && !isUtf8(start);
}

/** True if the bytes are UTF-8. The last character may be cut off. */
function isUtf8(start: Uint8Array): boolean {
  return [0, 1, 2, 3].some(
    (cut) => decodeStrict(start.subarray(0, start.length - cut), 'utf-8') !== undefined,
  );
}

/** Matches control characters that no encoding of text uses. */
const UNUSED_CONTROLS = /[\x01-\x06\x10-\x1a\x1c-\x1f]/;

/** True if the bytes begin with any byte order mark. */
function hasMark(bytes: Uint8Array): boolean {
  return markOf(bytes) !== undefined;
}

/** The bytes after a byte order mark, if there is one. */
export function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(markOf(bytes)?.mark.length ?? 0);
}

export function hasUtf16Mark(bytes: Uint8Array): boolean {
  return markOf(bytes)?.mark.length === 2;
}

export function hasNul(bytes: Uint8Array): boolean {
  const start = bytes.byteLength > SNIFFED_BYTES ? bytes.subarray(0, SNIFFED_BYTES) : bytes;
  return viewOf(start).indexOf(0) !== -1;
}

/** True if the text contains neither replacement characters nor control characters that text does not use. */
function isPlainText(text: string): boolean {
  return !/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]/.test(text);
}

function markOf(bytes: Uint8Array): (typeof BOMS)[number] | undefined {
  return BOMS.find(({ mark }) => mark.every((byte, at) => bytes[at] === byte));
}

const STRICT = { fatal: true, ignoreBOM: true } as const;
/** A shared decoder, because making one takes longer than decoding a small file. */
const STRICT_UTF8 = new TextDecoder('utf-8', STRICT);

function decodeStrict(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    const decoder = encoding === 'utf-8' ? STRICT_UTF8 : new TextDecoder(encoding, STRICT);
    const text = decoder.decode(bytes);
    // Reject a text in UTF-16 that contains a NUL: the file is really UTF-32 or binary.
    return encoding !== 'utf-8' && text.includes('\0') ? undefined : text;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

export type Utf16Encoding = 'utf-16le' | 'utf-16be';

/**
 * The encoding of a file in UTF-16, judged by its first bytes. Undefined for other files, including
 * UTF-32, whose byte order mark begins like that of UTF-16.
 */
export function utf16Of(start: Uint8Array): Utf16Encoding | undefined {
  const sample = start.subarray(0, Math.min(start.byteLength & ~1, SNIFFED_BYTES));
  const marked = markOf(sample)?.encoding;
  const guessed = marked === undefined && hasNul(sample) ? guessUtf16(sample) : undefined;
  const encoding = marked === 'utf-8' ? undefined : (marked ?? guessed);
  if (encoding === undefined) return undefined;
  const text = decodeUtf16(sample, encoding);
  return text.includes('\0') || (marked === undefined && !isPlainText(text)) ? undefined : encoding;
}

/** Decodes UTF-16. Keeps a byte order mark as a character. */
export function decodeUtf16(bytes: Uint8Array, encoding: Utf16Encoding): string {
  if (encoding === 'utf-16le') return viewOf(bytes).toString('utf16le');
  const units = Buffer.from(bytes.subarray(0, bytes.byteLength & ~1));
  return units.swap16().toString('utf16le');
}

function guessUtf16(bytes: Uint8Array): Utf16Encoding | undefined {
  if (bytes.length % 2 !== 0) return undefined;
  const sample = bytes.subarray(0, SNIFFED_BYTES);
  let even = 0;
  let odd = 0;
  for (let at = 0; at + 1 < sample.length; at += 2) {
    if (sample[at] === 0) even += 1;
    if (sample[at + 1] === 0) odd += 1;
  }
  const units = Math.floor(sample.length / 2);
  if (units < MIN_UNITS) return undefined;
  // ASCII text in UTF-16 has a zero byte in every unit of two bytes. ASCII text with fewer zeros is
  // not UTF-16: there, the zeros are separators, as in the output of `find -print0`.
  const ascii = /^[\0\t-\r -~]*$/.test(viewOf(sample).toString('latin1'));
  const enough = ascii ? units : units * MIN_ZERO_SHARE;
  if (even === 0 && odd >= enough) return 'utf-16le';
  return odd === 0 && even >= enough ? 'utf-16be' : undefined;
}
