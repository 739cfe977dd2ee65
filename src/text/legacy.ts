import { analyse } from 'chardet';
import iconv from 'iconv-lite';
import { viewOf } from './buffer-view.ts';
import { type DecodedText, isPlainText } from './unicode.ts';

/** Detection costs about half a second a megabyte, so it sees this much. */
const SAMPLE_BYTES = 64 * 1024;
/** Each candidate costs a decode and an encode of the whole file. */
const MAX_CANDIDATES = 4;
/** Share of bytes beyond ASCII up to which a text may be Western although nothing tells so. */
const MAX_HIGH_SHARE = 0.3;
/** Windows' superset of an ISO encoding: its extra characters may lie beyond the sample. */
const SUPERSETS: Readonly<Record<string, string>> = {
  'iso-8859-1': 'windows-1252',
  'iso-8859-9': 'windows-1254',
};

/**
 * Decodes text in an older encoding, or undefined.
 * The name is a guess from a sample; what is certain is that encoding the text again gives the same bytes.
 */
export function decodeLegacy(bytes: Uint8Array): DecodedText | undefined {
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
export function encodeLegacy(text: string, encoding: string): Uint8Array | undefined {
  if (!iconv.encodingExists(encoding)) return undefined;
  const bytes = iconv.encode(text, encoding);
  return iconv.decode(bytes, encoding, { stripBOM: false }) === text ? bytes : undefined;
}

function candidates(sample: Buffer): string[] {
  const names = analyse(sample)
    .map((match) => match.name.toLowerCase())
    .filter((name) => !name.startsWith('utf-') && iconv.encodingExists(name))
    .flatMap((name) => [name, SUPERSETS[name] ?? name]);
  const guessed = [...new Set(names)].slice(0, MAX_CANDIDATES);
  // A word or two are too little for the detector, and most such files are Western.
  return isMostlyAscii(sample) ? [...guessed, 'iso-8859-1', 'windows-1252'] : guessed;
}

function isMostlyAscii(sample: Buffer): boolean {
  return sample.filter((byte) => byte >= 0x80).byteLength <= MAX_HIGH_SHARE * sample.byteLength;
}

/** From the line of the first byte beyond ASCII on: what comes before helps no detector. */
function sampleOf(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte >= 0x80);
  const line = bytes.lastIndexOf(0x0a, first) + 1;
  return bytes.subarray(line, line + SAMPLE_BYTES);
}
