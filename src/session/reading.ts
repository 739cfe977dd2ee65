import { isAscii, isUtf8 } from 'node:buffer';
import type { Page } from '../disk/page.ts';
import type { Unreadable } from '../disk/read.ts';
import { outputMask } from '../gate/secret-values.ts';
import type { World } from '../gate/world.ts';
import type { ClientCall } from '../model/call.ts';
import type { LineRange } from '../model/coverage.ts';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import type { FileKind } from '../model/path.ts';
import type { ReadResult } from '../model/results.ts';
import type { ReadOptions } from '../model/session.ts';
import type { Sighting } from '../model/sighting.ts';
import { invalidArgument, type Outcome, type Refusal, type RefusalOf, refused } from '../model/verdict.ts';
import { decodeText, encodeText, hasNul, withoutMark } from '../text/decode.ts';
import {
  clampLine,
  clampLines,
  countLines,
  lineAt,
  offsetOfLine,
  sliceLineBytes,
  toLf,
  viewOf,
} from '../text/lines.ts';
import { isSecretPath, masked, secretSpans } from '../text/secrets.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Found } from '../workspace/workspace.ts';
import { outputId } from './path-names.ts';

/**
 * For each huge file, the position after the last page that was shown. The next page then need not
 * count lines from the top.
 */
export type PageEnds = Map<string, PageEnd>;

export interface PageEnd {
  readonly stamp: Stamp;
  readonly next: Page['next'];
}

/** The path and the lines that a read asks for. */
interface RequestedLines {
  readonly path: string;
  readonly options: Omit<ReadOptions, keyof ReadControls>;
}

/** The request of a read. */
export interface ReadRequest extends RequestedLines {
  readonly watching: ReadControls;
  /**
   * `disk`: the file is always read. `memory`: it is not read again while its size and times prove
   * that it is unchanged.
   */
  readonly from: 'disk' | 'memory';
  readonly pageEnds: PageEnds;
  /** Maximum number of bytes of lines in the answer. */
  readonly maxAnswerBytes: number;
}

/** One read in progress: the request, the located file, and what the session saw of it before. */
export interface OpenRead {
  readonly request: ReadRequest;
  readonly world: World;
  readonly knowledge: Knowledge;
  readonly located: Found;
  readonly earlier: Sighting | undefined;
}

/** Progress and cancellation of a long read. Set only by callers that need them. */
export type ReadControls = Pick<ReadOptions, 'signal' | 'onProgress'> & {
  /**
   * Times at which the call arrived and was answered. Lines in the answer count as seen only for
   * later calls. Absent if the client waits for each answer before its next call.
   */
  readonly times?: ClientCall | undefined;
};

/** The text of a read. */
export interface PageText {
  /** Decodes the text. A tool that sends `bytes` does not call it: of 1 MB, that saves 40 % of a read. */
  readonly text: () => string;
  readonly bytes: Uint8Array | undefined;
  readonly clamped: ReadResult['clamped'];
  readonly media?: NonNullable<ReadResult['media']>;
}

/** The content that a read shows, before it is recorded. */
export interface Shown {
  readonly page: PageText;
  readonly facts: Pick<ReadResult, 'from' | 'to' | 'totalLines' | 'sizeBytes' | 'encoding'>;
  readonly sighting: Sighting;
}

/** The requested lines, or a refusal. `totalLines` is undefined for a huge file with uncounted lines. */
export function rangeOf(
  { path, options }: RequestedLines,
  totalLines: number | undefined,
): LineRange | Refusal {
  const wrong = (reason: string): Refusal => invalidArgument('read', path, reason);
  const { last, offset = 1, limit = LIMITS.maxReadLines } = options;
  if (last !== undefined && (options.offset !== undefined || options.limit !== undefined))
    return wrong('the last lines cannot be combined with offset and limit');
  if (last !== undefined && totalLines !== undefined)
    return isCount(last)
      ? { from: Math.max(1, totalLines - last + 1), to: totalLines }
      : wrong(`the number of last lines must be 1 or more, not ${last}`);
  if (!isCount(offset)) return wrong(`offset must be a line number from 1 on, not ${offset}`);
  if (!isCount(limit)) return wrong(`limit must be a number of lines from 1 on, not ${limit}`);
  if (totalLines === undefined) return { from: offset, to: offset + limit - 1 };
  if (offset > Math.max(totalLines, 1)) return wrong(pastTheEnd(offset, totalLines));
  return { from: offset, to: Math.min(offset + limit - 1, totalLines) };
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1;
}

export function pastTheEnd(offset: number, totalLines: number): string {
  return `offset ${offset} is past the end: the file has ${totalLines} ${totalLines === 1 ? 'line' : 'lines'}`;
}

/** The refusal for an existing file that could not be read. */
export function unreadableRefusal(path: string, problem: Unreadable): Refusal {
  const base = { action: 'read', path } as const;
  switch (problem.problem) {
    case 'missing':
      return { ...base, code: 'NOT_FOUND', next: 'other_path' };
    case 'kind':
      return notAFile(path, problem.kind);
    case 'swapped': {
      const detail = { reason: 'it was replaced by a link meanwhile' };
      return { ...base, code: 'UNVERIFIABLE', next: 'retry_later', detail };
    }
    case 'too-large':
      return tooLarge(path, { sizeBytes: problem.size });
    case 'denied':
      return { ...base, code: 'UNVERIFIABLE', next: 'ask_human', detail: { errno: problem.errno } };
    default:
      return problem satisfies never;
  }
}

export function notAFile(path: string, kind: FileKind): Refusal {
  const next = kind === 'directory' ? 'list' : 'other_path';
  return { code: 'NOT_A_FILE', action: 'read', path, next, detail: { kind } };
}

export function tooLarge(path: string, detail: NonNullable<RefusalOf<'TOO_LARGE'>['detail']>): Refusal {
  return { code: 'TOO_LARGE', action: 'read', path, next: 'read_range', detail };
}

/** A file's text in lines. Only the requested lines become strings. */
export interface FileText {
  readonly encoding: string;
  readonly bom: boolean;
  /** All bytes of the file. */
  readonly whole: Buffer;
  /** The text in UTF-8, without a byte order mark. */
  readonly body: Buffer;
}

/** Bytes as text, or undefined if they are not text. */
export function fileText(bytes: Buffer): FileText | undefined {
  if (isUtf8(bytes) && !hasNul(bytes)) {
    // Every byte order mark of UTF-8 begins with this byte, and few files do.
    const body = bytes[0] === 0xef ? withoutMark(bytes) : bytes;
    return { encoding: 'utf-8', bom: body.length < bytes.length, whole: bytes, body };
  }
  const decoded = decodeText(bytes);
  if (decoded === undefined) return undefined;
  const { encoding, bom, text } = decoded;
  return { encoding, bom, whole: bytes, body: Buffer.from(text, 'utf8') };
}

/** A file's text in the form that a session may see. */
interface VisibleText {
  readonly text: FileText;
  /** The lines in which something is masked. */
  readonly masked: readonly LineRange[];
}

/** A file whose text is masked. */
interface ReadFile {
  readonly path: string;
  readonly fingerprint: Fingerprint;
  /** True if the session has been shown the same bytes masked. */
  readonly wasMasked: boolean;
}

/**
 * Masks secrets in a file's text, according to the policy. Returns the text itself if it holds no
 * secret. Bytes that were shown masked and hold nothing to mask here are those of a secret file
 * that was moved, perhaps before this process began.
 */
export function visibleText(
  { policy, baselines, secretValues: known }: World,
  file: FileText,
  { path, fingerprint, wasMasked }: ReadFile,
): VisibleText {
  const plain = { text: file, masked: [] };
  if (policy.secrets === 'show') return plain;
  const isNamed = isSecretPath(path);
  const { body } = file;
  if (!isNamed && !wasMasked && !known.mayBeIn(body) && !baselines.mayHoldSecret(fingerprint, body))
    return plain;
  const text = body.toString('utf8');
  const found = secretSpans(text, { secretFile: isNamed, known });
  const options = { secretFile: isNamed || (wasMasked && found.length === 0), known };
  const spans = found.length > 0 ? found : secretSpans(text, options);
  if (spans.length === 0) return plain;
  if (options.secretFile) known.learn(text);
  const shown = masked(text, options);
  const whole = encodeText(shown, file) ?? Buffer.from(shown, 'utf8');
  return {
    text: { ...file, whole: viewOf(whole), body: Buffer.from(shown, 'utf8') },
    masked: spans.map(({ start, end }) => ({ from: lineAt(text, start), to: lineAt(text, end - 1) })),
  };
}

/** Shows a page of a command's output. The output is not a workspace file, so nothing is recorded as seen. */
export async function readOutput(
  world: World,
  session: string,
  asked: RequestedLines & { readonly maxAnswerBytes: number },
): Promise<Outcome<ReadResult>> {
  const { path } = asked;
  const bytes = world.processes.output(outputId(path), session);
  if (bytes === undefined) {
    const detail = { reason: 'no output of this session is kept under that name' };
    return refused({ code: 'NOT_FOUND', action: 'read', path, next: 'none', detail });
  }
  const show = await outputMask(world);
  const body = Buffer.from(show(bytes.toString('utf8')), 'utf8');
  const totalLines = countLines(body);
  const wanted = rangeOf(asked, totalLines);
  if ('code' in wanted) return refused(wanted);
  const range = fittingLines(body, wanted, asked.maxAnswerBytes);
  const { text, clamped } = pageOf({ encoding: 'utf-8', bom: false, whole: body, body }, range, 'shown');
  const [from, to] = totalLines === 0 ? [0, 0] : [range.from, range.to];
  const facts = { totalLines, sizeBytes: bytes.byteLength, complete: false, encoding: 'utf-8' };
  return { ok: true, path, text: text(), clamped, from, to, ...facts };
}

const NONE: readonly number[] = [];

/**
 * The lines of a range. `shown`: without endings, and cut if they are too long. `raw`: exactly as
 * in the file.
 */
export function pageOf(file: FileText, range: LineRange | 'all', form: 'shown' | 'raw'): PageText {
  const first = range === 'all' ? 1 : range.from;
  const lines = range === 'all' ? file.body : viewOf(sliceLineBytes(file.body, range));
  const decoded = (): string => utf8Text(lines);
  if (form === 'raw') return { text: decoded, bytes: rawBytes(file, range, decoded), clamped: NONE };
  if (hasLongLine(lines, LIMITS.maxLineChars)) {
    const { text, clamped } = clampLines(decoded(), first, LIMITS.maxLineChars);
    return { text: () => text, bytes: undefined, clamped };
  }
  const text = (): string => toLf(decoded()).replace(/\n$/, '');
  return { text, bytes: file.encoding === 'utf-8' ? lines : undefined, clamped: NONE };
}

/** The lines of a range in the file's own encoding. */
function rawBytes(
  { whole, encoding, bom }: FileText,
  range: LineRange | 'all',
  text: () => string,
): Uint8Array {
  if (range === 'all') return whole;
  if (encoding === 'utf-8') return sliceLineBytes(whole, range);
  return encodeText(text(), { encoding, bom: bom && range.from === 1 }) ?? Buffer.from(text(), 'utf8');
}

/** Decodes UTF-8. Most files are ASCII, which `latin1` decodes many times faster. */
function utf8Text(bytes: Buffer): string {
  return isAscii(bytes) ? bytes.toString('latin1') : bytes.toString('utf8');
}

const [NEWLINE, RETURN] = [10, 13];

/** True if a line may be longer than `max`, found by jumping from newline to newline. Counts bytes, not characters. */
function hasLongLine(bytes: Buffer, max: number): boolean {
  for (let at = 0; bytes.byteLength - at > max; ) {
    const newline = bytes.lastIndexOf(NEWLINE, at + max);
    if (newline < at) return true;
    at = newline + 1;
  }
  return false;
}

/** The lines that fit into one answer, at least one. */
export function fittingLines(body: Buffer, range: LineRange, room: number): LineRange {
  if (body.byteLength <= room) return range;
  let used = 0;
  let at = offsetOfLine(body, range.from);
  for (let line = range.from; line <= range.to && at < body.length; line += 1) {
    const found = body.indexOf(NEWLINE, at);
    const newline = found === -1 ? body.length : found;
    const end = newline > at && found !== -1 && body[newline - 1] === RETURN ? newline - 1 : newline;
    used += shownSize(body.subarray(at, end)) + 1;
    if (used > room && line > range.from) return { from: range.from, to: line - 1 };
    at = newline + 1;
  }
  return range;
}

/** The size in bytes of a line as shown: cut if it is too long. It has at most as many characters as bytes. */
function shownSize(line: Buffer): number {
  if (line.length <= LIMITS.maxLineChars) return line.length;
  return Buffer.byteLength(clampLine(line.toString('utf8'), LIMITS.maxLineChars).text);
}
