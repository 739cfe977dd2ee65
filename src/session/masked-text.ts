import { isAscii, isUtf8 } from 'node:buffer';
import { outputMask } from '../gate/secret-values.ts';
import type { World } from '../gate/world.ts';
import type { LineRange } from '../model/coverage.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import type { ReadResult } from '../model/results.ts';
import type { ReadOptions } from '../model/session.ts';
import { invalidArgument, type Outcome, refused } from '../model/verdict.ts';
import { decodeText, encodeText, hasNul } from '../text/decode.ts';
import {
  clampLine,
  clampLines,
  lineAt,
  offsetOfLine,
  sliceLineBytes,
  sliceLines,
  splitLines,
  toLf,
  viewOf,
  withoutEnding,
} from '../text/lines.ts';
import { isSecretPath, masked, secretSpans } from '../text/secrets.ts';
import { outputId } from './path-names.ts';

/** A file's text in the form that a session may see. */
export interface VisibleText {
  readonly text: FileText;
  /** True if something in these lines is masked. */
  isMasked(range: LineRange | 'all'): boolean;
}

const EVERYTHING: LineRange = { from: 1, to: Number.MAX_SAFE_INTEGER };

/** A file whose text is to be shown. */
interface Showable {
  readonly file: FileText;
  /** The file's path, relative to its root. */
  readonly path: string;
  readonly fingerprint: Fingerprint;
  /** The lines that are to be shown. Default: all. */
  readonly page?: PageText;
}

/**
 * Masks secrets in a file's text, according to the policy. Returns the text unchanged if no line up to the end of the
 * page holds a secret.
 */
export function visibleText(
  { policy, baselines, secretValues: known }: World,
  { file, path, fingerprint, page }: Showable,
): VisibleText {
  const plain = { text: file, isMasked: () => false };
  if (policy.secrets === 'show') return plain;
  const options = { secretFile: isSecretPath(path), known };
  // Return early if the bytes hold no secret. Only UTF-8 can be scanned without decoding.
  if (
    !options.secretFile &&
    file.body !== undefined &&
    !known.mayBeIn(file.body) &&
    !baselines.mayHoldSecret(fingerprint, file.body, endOf(file.body, page))
  )
    return plain;
  const text = file.slice(EVERYTHING);
  const spans = secretSpans(text, options);
  if (spans.length === 0) return plain;
  if (options.secretFile) known.learn(text);
  const shown = pageText(Buffer.from(masked(text, options), 'utf8'));
  if (shown === undefined) return plain;
  const lines = spans.map(({ start, end }) => ({ from: lineAt(text, start), to: lineAt(text, end - 1) }));
  return {
    text: { ...shown, encoding: file.encoding },
    isMasked: (range) =>
      lines.some(({ from, to }) => range === 'all' || (from <= range.to && range.from <= to)),
  };
}

/**
 * The offset at which a page ends in the text. If the page's position is unknown because long lines
 * were cut, the end of the whole text.
 */
function endOf(body: Buffer, page: PageText | undefined): number {
  const { bytes } = page ?? {};
  if (bytes === undefined || bytes.buffer !== body.buffer) return body.length;
  return bytes.byteOffset + bytes.byteLength - body.byteOffset;
}

/** Shows a page of a command's output. The output is not a workspace file, so nothing is recorded as seen. */
export async function readOutput(
  world: World,
  session: string,
  request: {
    readonly path: string;
    readonly options: ReadOptions;
    readonly maxAnswerBytes?: number | undefined;
  },
): Promise<Outcome<ReadResult>> {
  const { path, options, maxAnswerBytes = world.policy.maxAnswerBytes } = request;
  const bytes = world.processes.output(outputId(path), session);
  if (bytes === undefined) {
    const detail = { reason: 'no output of this session is kept under that name' };
    return refused({ code: 'NOT_FOUND', action: 'read', path, next: 'none', detail });
  }
  const show = await outputMask(world);
  const lines = splitLines(show(bytes.toString('utf8')));
  const { maxReadLines, maxLineChars } = LIMITS;
  const limit = Math.min(options.limit ?? options.last ?? maxReadLines, maxReadLines);
  const from = options.last === undefined ? (options.offset ?? 1) : Math.max(1, lines.length - limit + 1);
  const reason = whyNoPage({ from, limit }, lines.length);
  if (reason !== undefined) return refused(invalidArgument('read', path, reason));
  const fitting = fittingCount(lines.slice(from - 1, from - 1 + limit), maxLineChars, maxAnswerBytes);
  const page = lines.slice(from - 1, from - 1 + fitting);
  return {
    ok: true,
    path,
    ...clampLines(page.join(''), from, maxLineChars),
    from: page.length === 0 ? 0 : from,
    to: page.length === 0 ? 0 : from + page.length - 1,
    totalLines: lines.length,
    sizeBytes: bytes.byteLength,
    complete: false,
    encoding: 'utf-8',
  };
}

function whyNoPage(
  { from, limit }: { readonly from: number; readonly limit: number },
  totalLines: number,
): string | undefined {
  if (!Number.isInteger(limit) || limit < 1) return `limit must be a number of lines from 1 on, not ${limit}`;
  if (!Number.isInteger(from) || from < 1) return `offset must be a line number from 1 on, not ${from}`;
  return from > Math.max(totalLines, 1) ? `offset ${from} is past the end (${totalLines} lines)` : undefined;
}

/** The number of lines that fit into an answer of this size, at least one. */
function fittingCount(lines: readonly string[], maxLineChars: number, room: number): number {
  let used = 0;
  const tooMany = lines.findIndex((line, index) => {
    used += Buffer.byteLength(clampLine(withoutEnding(line), maxLineChars).text) + 1;
    return used > room && index > 0;
  });
  return tooMany < 0 ? lines.length : tooMany;
}

const [NEWLINE, RETURN] = [10, 13];
const NONE: readonly number[] = [];
const ALL: LineRange = { from: 1, to: Number.MAX_SAFE_INTEGER };

/** A file's text in lines. Only the requested lines are decoded, if the encoding allows it. */
export interface FileText {
  readonly encoding: string;
  /** All bytes of the file. */
  readonly whole: Buffer;
  /** The file's text in UTF-8 without a byte order mark. Undefined for other encodings. */
  readonly body: Buffer | undefined;
  /** The lines of a range, with their endings. */
  slice(range: LineRange): string;
  /** Like `slice`, in the file's own encoding. */
  sliceRaw(range: LineRange): Uint8Array;
}

/** Bytes as text, or undefined if they are not text. */
export function pageText(bytes: Buffer): FileText | undefined {
  if (isUtf8(bytes) && !hasNul(bytes)) {
    const body = hasMark(bytes) ? bytes.subarray(3) : bytes;
    const slice = (range: LineRange): string => utf8Text(range === ALL ? body : sliceLineBytes(body, range));
    return {
      encoding: 'utf-8',
      whole: bytes,
      body,
      slice,
      sliceRaw: (range) => sliceLineBytes(bytes, range),
    };
  }
  const decoded = decodeText(bytes);
  if (decoded === undefined) return undefined;
  const slice = (range: LineRange): string => sliceLines(decoded.text, range);
  const { encoding, bom } = decoded;
  const sliceRaw = (range: LineRange): Uint8Array =>
    encodeText(slice(range), { encoding, bom: bom && range.from === 1 }) ?? Buffer.from(slice(range), 'utf8');
  return { encoding, whole: bytes, body: undefined, slice, sliceRaw };
}

/** True if UTF-8 text begins with a byte order mark. */
function hasMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** Decodes UTF-8. Most files are ASCII, which `latin1` decodes many times faster. */
function utf8Text(bytes: Uint8Array): string {
  const buffer = viewOf(bytes);
  return isAscii(buffer) ? buffer.toString('latin1') : buffer.toString('utf8');
}

/** The text part of a read result. The text is computed on first use. */
export type PageText = Pick<ReadResult, 'text' | 'clamped'> & { readonly bytes?: Uint8Array };

export interface PageOptions {
  readonly range: LineRange | 'all';
  readonly raw: boolean;
  readonly maxLineChars: number;
}

/** Some or all lines of a file, as a read shows them. */
export function shownPage(file: FileText, { range, raw, maxLineChars }: PageOptions): PageText {
  const lines = range === 'all' ? ALL : range;
  if (raw) return shownRaw(file, range);
  const bytes = file.body && (range === 'all' ? file.body : sliceLineBytes(file.body, range));
  if (bytes === undefined || hasLongLine(bytes, maxLineChars))
    return clampLines(file.slice(lines), lines.from, maxLineChars);
  return new UndecodedPage(bytes, withoutEndings);
}

/** A page that is decoded on first use. Making one costs less than a getter in an object literal. */
class UndecodedPage implements PageText {
  readonly bytes: Uint8Array;
  readonly clamped = NONE;
  readonly #decode: (bytes: Uint8Array) => string;
  #text: string | undefined;

  constructor(bytes: Uint8Array, decode: (bytes: Uint8Array) => string) {
    this.bytes = bytes;
    this.#decode = decode;
  }

  get text(): string {
    this.#text ??= this.#decode(this.bytes);
    return this.#text;
  }
}

/** Like `clampLines`, but faster. Only for text in which no line is so long that it must be cut. */
function withoutEndings(bytes: Uint8Array): string {
  const text = toLf(utf8Text(bytes));
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

function shownRaw(file: FileText, range: LineRange | 'all'): PageText {
  const lines = range === 'all' ? ALL : range;
  const bytes = range === 'all' ? file.whole : file.sliceRaw(range);
  return new UndecodedPage(bytes, () => file.slice(lines));
}

/** Returns a function that computes a value on first use. */
export function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** True if a line may be longer than `max`, found by jumping from newline to newline. Counts bytes, not characters. */
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

/** The lines that fit into one answer, at least one. */
export function fittingLines(text: FileText, range: LineRange, room: number): LineRange {
  if (text.whole.byteLength <= room) return range;
  let used = 0;
  let to = range.from - 1;
  for (const bytes of shownSizes(text, range, LIMITS.maxLineChars)) {
    used += bytes + 1;
    if (used > room && to >= range.from) return { from: range.from, to };
    to += 1;
  }
  return range;
}

/** The size in bytes of each line as shown: without its ending, and cut if it is too long. */
function* shownSizes(text: FileText, range: LineRange, maxLineChars: number): Generator<number> {
  const { body } = text;
  const cutSize = (line: string): number => Buffer.byteLength(clampLine(line, maxLineChars).text);
  if (body === undefined) {
    for (const line of splitLines(text.slice(range))) yield cutSize(withoutEnding(line));
    return;
  }
  let at = offsetOfLine(body, range.from);
  for (let line = range.from; line <= range.to && at < body.length; line += 1) {
    const found = body.indexOf(NEWLINE, at);
    const newline = found === -1 ? body.length : found;
    const end = newline > at && body[newline - 1] === RETURN && found !== -1 ? newline - 1 : newline;
    // A line has at most as many characters as bytes, so a short line need not be decoded.
    yield end - at <= maxLineChars ? end - at : cutSize(body.toString('utf8', at, end));
    at = newline + 1;
  }
}
