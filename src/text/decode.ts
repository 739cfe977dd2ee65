import { analyse } from 'chardet';
import iconv from 'iconv-lite';
import { viewOf } from './buffer-view.ts';
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

/** Detection costs about half a second a megabyte, so it sees this much. */
const SAMPLE_BYTES = 64 * 1024;
/** Each candidate costs a decode and an encode of the whole file. */
const MAX_CANDIDATES = 4;
/** Share of bytes beyond ASCII up to which a text is Western unless the detector is clearly surer of another encoding. */
const MAX_HIGH_SHARE = 0.3;
/** Bytes beyond ASCII from which a guess other than Western is believed: fewer fit any encoding. */
const MIN_HIGH_BYTES = { single: 8, multi: 16 } as const;
/** How much surer than of a Western encoding the detector must be, in per cent. */
const SURER = 10;
const MIN_MULTI_BYTE_CONFIDENCE = 50;
const WESTERN = ['windows-1252', 'iso-8859-1'] as const;
const MULTI_BYTE = /^(?:shift_jis|euc-|big5|gb|iso-2022)/;
/** Windows' superset of an ISO encoding: its extra characters may lie beyond the sample. */
const SUPERSETS: Readonly<Record<string, string>> = {
  'iso-8859-1': 'windows-1252',
  'iso-8859-9': 'windows-1254',
};

interface Match {
  readonly name: string;
  readonly confidence: number;
}

/**
 * Decodes a file without loss, or undefined: then it is binary for every purpose of ours.
 * The ladder: byte order mark; NUL near the beginning (UTF-16 or binary); strict UTF-8; an older encoding
 * that gives the same bytes back. Nothing is ever replaced by U+FFFD.
 */
export function decodeText(bytes: Uint8Array): DecodedText | undefined {
  const decoded = decodeUnicode(bytes);
  if (decoded !== undefined) return decoded;
  return hasNul(bytes) || hasMark(bytes) ? undefined : decodeLegacy(bytes);
}

/** The bytes of a text stored `like` another; undefined if that form cannot hold it (an emoji in Latin-1). */
export function encodeText(text: string, like: TextForm): Uint8Array | undefined {
  return isUnicode(like.encoding) ? encodeUnicode(text, like) : encodeLegacy(text, like.encoding);
}

/**
 * Decodes text in an older encoding, or undefined.
 * The name is a guess from a sample; what is certain is that encoding the text again gives the same bytes.
 */
function decodeLegacy(bytes: Uint8Array): DecodedText | undefined {
  const buffer = viewOf(bytes);
  // Every encoding we accept keeps ASCII as it is, so control bytes are control characters: no need to decode.
  if (/[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]/.test(buffer.toString('latin1'))) return undefined;
  for (const encoding of candidates(sampleOf(buffer))) {
    const text = iconv.decode(buffer, encoding, { stripBOM: false });
    if (isPlainText(text) && iconv.encode(text, encoding).equals(buffer))
      return { text, encoding, bom: false };
  }
  return undefined;
}

/** Encodes in an older encoding; undefined when a character does not exist in it, or the name is unknown. */
function encodeLegacy(text: string, encoding: string): Uint8Array | undefined {
  if (!iconv.encodingExists(encoding)) return undefined;
  const bytes = iconv.encode(text, encoding);
  return iconv.decode(bytes, encoding, { stripBOM: false }) === text ? bytes : undefined;
}

/** Encodings to try, the likeliest first. A few words are too little for the detector, and most such files are Western. */
function candidates(sample: Buffer): string[] {
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
    ...new Set([...believed.slice(0, MAX_CANDIDATES), ...westernIf(mostlyAscii || western > 0), ...others]),
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

function westernIf(plausible: boolean): readonly string[] {
  return plausible ? WESTERN : [];
}

/** From the line of the first byte beyond ASCII on: what comes before helps no detector. */
function sampleOf(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte >= 0x80);
  const line = bytes.lastIndexOf(0x0a, first) + 1;
  return bytes.subarray(line, line + SAMPLE_BYTES);
}
