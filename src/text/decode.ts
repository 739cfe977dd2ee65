import type { analyse } from 'chardet';
import type iconv from 'iconv-lite';
import { endingUsed, viewOf, withEnding } from './lines.ts';
import {
  type DecodedText,
  decodeUnicode,
  encodeUnicode,
  hasMark,
  hasNul,
  isPlainText,
  isUnicode,
  type TextForm,
} from './unicode.ts';

/** Sample size for detection, which takes about half a second per megabyte. */
const SAMPLE_BYTES = 64 * 1024;
/** Maximum number of encodings to try. Each one costs a decode and an encode of the whole file. */
const MAX_CANDIDATES = 4;
/**
 * Up to this share of non-ASCII bytes, a text counts as Western unless the detector is clearly surer of another
 * encoding.
 */
const MAX_HIGH_SHARE = 0.3;
/** Minimum number of non-ASCII bytes for a guess other than Western. Fewer bytes fit any encoding. */
const MIN_HIGH_BYTES = { single: 8, multi: 16 } as const;
/** Percentage points by which the detector must prefer another encoding over a Western one. */
const SURER = 10;
const MIN_MULTI_BYTE_CONFIDENCE = 50;
const WESTERN = ['windows-1252', 'iso-8859-1'] as const;
const MULTI_BYTE = /^(?:shift_jis|euc-|big5|gb|iso-2022)/;
/** The Windows superset of each ISO encoding. Characters that only the superset has may occur after the sample. */
const SUPERSETS: Readonly<Record<string, string>> = {
  'iso-8859-1': 'windows-1252',
  'iso-8859-9': 'windows-1254',
};

/** The packages that know older encodings. */
export interface LegacyCodecs {
  readonly analyse: typeof analyse;
  readonly iconv: typeof iconv;
}

let codecs: (() => LegacyCodecs) | undefined;

/**
 * Says how to load the packages. It happens at the first file that is not Unicode, because it takes 14 to 30 ms of CPU and most
 * sessions never meet one. `disk/` calls this: this folder can load nothing by itself.
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
 * Decodes a file without loss. Returns undefined if it cannot; the file then counts as binary everywhere. Tries in
 * order: byte order mark; NUL near the beginning (UTF-16 or binary); strict UTF-8; a legacy encoding that restores the
 * same bytes. Never substitutes U+FFFD.
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
  // All accepted encodings extend ASCII, so control bytes are control characters, and decoding is not needed here.
  if (/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]/.test(buffer.toString('latin1'))) return undefined;
  const { iconv } = loaded();
  for (const encoding of candidates(sampleOf(buffer))) {
    const text = iconv.decode(buffer, encoding, { stripBOM: false });
    if (isPlainText(text) && iconv.encode(text, encoding).equals(buffer))
      return { text, encoding, bom: false };
  }
  return undefined;
}

/** Encodes in a legacy encoding. Undefined if it lacks a character, or if its name is unknown. */
function encodeLegacy(text: string, encoding: string): Uint8Array | undefined {
  const { iconv } = loaded();
  if (!iconv.encodingExists(encoding)) return undefined;
  const bytes = iconv.encode(text, encoding);
  return iconv.decode(bytes, encoding, { stripBOM: false }) === text ? bytes : undefined;
}

/** Encodings to try, most likely first. Short texts are too little for the detector, and most of them are Western. */
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
  const others = mostlyAscii ? [] : matches.map(({ name }) => name);
  return [
    ...new Set([
      ...believed.slice(0, MAX_CANDIDATES),
      ...(mostlyAscii || western > 0 ? WESTERN : []),
      ...others,
    ]),
  ];
}

function isWestern({ name }: Match): boolean {
  return WESTERN.some((western) => western === name);
}

function isClearlySurer(
  { name, confidence }: Match,
  { high, western }: { readonly high: number; readonly western: number },
): boolean {
  const multi = MULTI_BYTE.test(name);
  if (high < (multi ? MIN_HIGH_BYTES.multi : MIN_HIGH_BYTES.single)) return false;
  return confidence >= western + SURER && (!multi || confidence >= MIN_MULTI_BYTE_CONFIDENCE);
}

/** A sample from the line of the first non-ASCII byte on. Earlier lines do not help the detector. */
function sampleOf(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte >= 0x80);
  const line = bytes.lastIndexOf(0x0a, first) + 1;
  return bytes.subarray(line, line + SAMPLE_BYTES);
}

const NEWLINE = 10;
const RETURN = 13;

/** How a whole file is stored: its encoding and byte order mark, and whether all of its lines end in CRLF. */
interface FileForm extends TextForm {
  readonly crlf: boolean;
}

/**
 * Encodes a new whole text in the form of the file it replaces: byte order mark, UTF-16, CRLF. Undefined if the file
 * has none of these; the caller then writes the text as it is. A mark in the text itself is not doubled.
 */
export function bytesInFormOf(existing: Uint8Array, text: string): Uint8Array | undefined {
  const form = specialForm(existing);
  if (form === undefined) return undefined;
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  const bom = form.bom || body !== text;
  return encodeUnicode(form.crlf ? withEnding(body, '\r\n') : body, { encoding: form.encoding, bom });
}

/** Returns undefined for plain UTF-8 without CRLF, which needs no decoding to detect. */
function specialForm(bytes: Uint8Array): FileForm | undefined {
  const marked = hasMark(bytes) || hasNul(bytes);
  if (!marked && !beginsWithCrlf(bytes)) return undefined;
  const decoded = decodeUnicode(bytes);
  if (decoded === undefined) return undefined;
  const crlf = endingUsed(decoded.text) === '\r\n';
  const { encoding, bom } = decoded;
  return bom || crlf || encoding !== 'utf-8' ? { encoding, bom, crlf } : undefined;
}

function beginsWithCrlf(bytes: Uint8Array): boolean {
  const newline = viewOf(bytes).indexOf(NEWLINE);
  return newline > 0 && bytes[newline - 1] === RETURN;
}
