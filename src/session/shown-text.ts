import { isAscii, isUtf8 } from 'node:buffer';
import type { LineRange } from '../model/coverage.ts';
import type { ReadResult } from '../model/results.ts';
import { decodeText, hasNul } from '../text/decode.ts';
import { clampLines, sliceLineBytes, sliceLines, toLf, viewOf } from '../text/lines.ts';

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const NEWLINE = 10;
/** Up to this size, making a text costs less than deferring it. */
export const EAGER_BYTES: number = 8 << 10;
const NONE: readonly number[] = [];
const ALL: LineRange = { from: 1, to: Number.MAX_SAFE_INTEGER };

/** A file's text in lines. Only the requested lines are decoded, if the encoding allows it. */
export interface FileText {
  readonly encoding: string;
  /** All bytes of the file. */
  readonly whole: Buffer;
  /** Its text in UTF-8 without a byte order mark. Undefined for other encodings. */
  readonly body: Buffer | undefined;
  /** Lines with their endings. */
  slice(range: LineRange): string;
}

/** Bytes as text, or undefined if they are not text. */
export function pageText(bytes: Buffer): FileText | undefined {
  if (isUtf8(bytes) && !hasNul(bytes)) {
    const body = bytes.subarray(0, 3).equals(BOM) ? bytes.subarray(3) : bytes;
    const slice = (range: LineRange): string => utf8Text(range === ALL ? body : sliceLineBytes(body, range));
    return { encoding: 'utf-8', whole: bytes, body, slice };
  }
  const decoded = decodeText(bytes);
  if (decoded === undefined) return undefined;
  const slice = (range: LineRange): string => sliceLines(decoded.text, range);
  return { encoding: decoded.encoding, whole: bytes, body: undefined, slice };
}

/** Decodes UTF-8. Most files are ASCII, which `latin1` decodes many times faster. */
function utf8Text(bytes: Uint8Array): string {
  const buffer = viewOf(bytes);
  return isAscii(buffer) ? buffer.toString('latin1') : buffer.toString('utf8');
}

/** The text part of a read result. The text is computed on first use. */
export type PageText = Pick<ReadResult, 'text' | 'clamped'> & { readonly bytes?: Uint8Array };

export interface Showing {
  readonly range: LineRange | 'all';
  readonly raw: boolean;
  readonly maxLineChars: number;
}

/** Some or all lines of a file, as a read shows them. */
export function shownPage(file: FileText, { range, raw, maxLineChars }: Showing): PageText {
  const lines = range === 'all' ? ALL : range;
  if (raw) return shownRaw(file, range);
  const clamp = (): ReturnType<typeof clampLines> => clampLines(file.slice(lines), lines.from, maxLineChars);
  const bytes = file.body && (range === 'all' ? file.body : sliceLineBytes(file.body, range));
  if (bytes === undefined || hasLongLine(bytes, maxLineChars)) return clamp();
  if (bytes.byteLength <= EAGER_BYTES) return { text: withoutEndings(bytes), clamped: NONE, bytes };
  const text = lazily(() => withoutEndings(bytes));
  return {
    get text() {
      return text();
    },
    clamped: NONE,
    bytes,
  };
}

/** The same text as from `clampLines`, if no line is too long. */
function withoutEndings(bytes: Uint8Array): string {
  const text = toLf(utf8Text(bytes));
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

function shownRaw(file: FileText, range: LineRange | 'all'): PageText {
  const lines = range === 'all' ? ALL : range;
  const bytes = range === 'all' || file.body === undefined ? file.whole : sliceLineBytes(file.whole, range);
  if (bytes.byteLength <= EAGER_BYTES) return { text: file.slice(lines), clamped: NONE, bytes };
  const text = lazily(() => file.slice(lines));
  return {
    get text() {
      return text();
    },
    clamped: NONE,
    bytes,
  };
}

/** Returns a function that computes a value on first use. */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Whether a line may be longer than `max`, found by jumping from newline to newline. Counts bytes, not characters. */
function hasLongLine(lines: Uint8Array, max: number): boolean {
  if (lines.byteLength <= max) return false;
  const bytes = viewOf(lines);
  for (let at = 0; bytes.byteLength - at > max; ) {
    const newline = bytes.lastIndexOf(NEWLINE, at + max);
    if (newline < at) return true;
    at = newline + 1;
  }
  return false;
}
