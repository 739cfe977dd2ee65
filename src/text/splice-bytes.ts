import type { Edit } from '../model/intent.ts';
import { type Change, changesOf, composeChanges, deletesLines } from './change.ts';
import { hasNul, hasUtf16Mark } from './decode.ts';
import { endingUsed, type LineEnding, type Span, viewOf, withEnding } from './lines.ts';

interface BytesSpliced {
  readonly bytes: Uint8Array;
  /** Offsets are in bytes; otherwise like `changes` in splice.ts. */
  readonly changes: readonly Change[];
  readonly replaced: number;
}

interface SpliceBytesOptions {
  /** Encoding of the file, if known. Only with `utf-8` may edits contain non-ASCII characters. */
  readonly encoding?: string;
  /** See `SpliceOptions.matching` in splice.ts. */
  readonly matching?: 'exact' | 'safe';
}

const NEWLINE = 10;
const RETURN = 13;
/** Longer needles are searched by this prefix, because the native search is not linear (see match.ts). */
const PREFIX = 64;
const MAX_FALSE_STARTS = 100;
const MAX_RESULT_BYTES = 1 << 28;

/**
 * Applies the edits of splice.ts directly to bytes, if every anchor matches exactly. Returns undefined if it
 * cannot do so with certainty; the caller must then decode the text. It never reports failures, because those need
 * the text. Works in every encoding that extends ASCII, because an ASCII anchor after an ASCII byte begins and
 * ends at character boundaries.
 */
export function spliceBytes(
  bytes: Uint8Array,
  edits: readonly Edit[],
  options: SpliceBytesOptions = {},
): BytesSpliced | undefined {
  if (hasUtf16Mark(bytes) || hasNul(bytes)) return undefined;
  const encoding = options.encoding === 'utf-8' ? 'utf-8' : 'other';
  let current = viewOf(bytes);
  let changes: readonly Change[] = [];
  let replaced = 0;
  for (const edit of edits) {
    if (!isPlain(edit, encoding)) return undefined;
    const found = findSpans(current, edit, encoding);
    if (found === undefined) return undefined;
    const whole = options.matching !== 'exact' && deletesLines(edit);
    const spans = whole ? found.map((span) => withLineEnding(current, span)) : found;
    const step = replaceSpans(current, edit, spans);
    if (step === undefined) return undefined;
    current = step.bytes;
    changes = composeChanges(changes, step.changes);
    replaced += spans.length;
  }
  return { bytes: current, changes, replaced };
}

/** UTF-8, or any other encoding that extends ASCII. */
type Encoding = 'utf-8' | 'other';

function isPlain(edit: Edit, encoding: Encoding): boolean {
  const { oldString, newString } = edit;
  if (edit.lines !== undefined) return false;
  if (oldString === '' || oldString === newString || endingUsed(oldString) === 'mixed') return false;
  const outside = encoding === 'utf-8' ? /[\p{Surrogate}\ufeff]/u : /[^\0-\x7f]/;
  return !outside.test(oldString) && !outside.test(newString);
}

function findSpans(bytes: Buffer, edit: Edit, encoding: Encoding): Span[] | undefined {
  const needle = Buffer.from(edit.oldString, 'utf8');
  const all = edit.replaceAll === true;
  const spans: Span[] = [];
  for (let at = find(bytes, needle, 0); at !== -1; ) {
    if (at === undefined || (!all && spans.length > 0)) return undefined;
    if (cutsInto(bytes, at, encoding)) return undefined;
    spans.push({ start: at, end: at + needle.length });
    at = find(bytes, needle, all ? at + needle.length : at + 1);
  }
  const wanted = edit.occurrences ?? spans.length;
  return spans.length === 0 || spans.length !== wanted ? undefined : spans;
}

function withLineEnding(bytes: Buffer, { start, end }: Span): Span {
  if (start > 0 && bytes[start - 1] !== NEWLINE) return { start, end };
  if (bytes[end] === NEWLINE) return { start, end: end + 1 };
  const crlf = bytes[end] === RETURN && bytes[end + 1] === NEWLINE;
  return { start, end: crlf ? end + 2 : end };
}

/** True if an offset may be inside a character of an unknown encoding, or is inside a `\r\n`. */
function cutsInto(bytes: Buffer, at: number, encoding: Encoding): boolean {
  const before = bytes[at - 1] ?? 0;
  return (encoding === 'other' && before >= 0x80) || (before === RETURN && bytes[at] === NEWLINE);
}

/** Returns undefined if too many places match only the needle's prefix. */
function find(bytes: Buffer, needle: Buffer, from: number): number | undefined {
  if (needle.length <= PREFIX) return bytes.indexOf(needle, from);
  const prefix = needle.subarray(0, PREFIX);
  let at = bytes.indexOf(prefix, from);
  for (let tries = 0; at !== -1; tries += 1) {
    if (bytes.subarray(at, at + needle.length).equals(needle)) return at;
    if (tries === MAX_FALSE_STARTS) return undefined;
    at = bytes.indexOf(prefix, at + 1);
  }
  return -1;
}

function replaceSpans(
  bytes: Buffer,
  edit: Edit,
  spans: readonly Span[],
): { readonly bytes: Buffer; readonly changes: readonly Change[] } | undefined {
  const used = endingUsed(edit.oldString);
  const own = used === '\n' || used === '\r\n' ? used : undefined;
  if (bytes.length + spans.length * edit.newString.length * 4 > MAX_RESULT_BYTES) return undefined;
  // Each place may need the ending of a different line. One is cheap to find; for several the caller must decode
  // the text.
  if (own === undefined && spans.length > 1 && edit.newString.includes('\n')) return undefined;
  const [first] = spans;
  const ending = own ?? (first && neighbourEnding(bytes, first));
  const replacement = Buffer.from(withEnding(edit.newString, ending), 'utf8');
  const pieces: Buffer[] = [];
  let done = 0;
  for (const span of spans) {
    pieces.push(bytes.subarray(done, span.start), replacement);
    done = span.end;
  }
  pieces.push(bytes.subarray(done));
  const lengths = spans.map(() => replacement.length);
  return { bytes: Buffer.concat(pieces), changes: changesOf(spans, lengths) };
}

function neighbourEnding(bytes: Buffer, span: Span): LineEnding | undefined {
  const next = bytes.indexOf(NEWLINE, span.end);
  const newline = next === -1 && span.start > 0 ? bytes.lastIndexOf(NEWLINE, span.start - 1) : next;
  if (newline === -1) return undefined;
  return bytes[newline - 1] === RETURN ? '\r\n' : '\n';
}
