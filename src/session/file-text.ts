import { isAscii, isUtf8 } from 'node:buffer';
import { outputMask } from '../gate/secret-values.ts';
import type { World } from '../gate/world.ts';
import type { LineRange } from '../model/coverage.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import type { ReadResult } from '../model/results.ts';
import { type Outcome, refused } from '../model/verdict.ts';
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
import { outputId } from './path-names.ts';
import { type PageText, type RequestedLines, rangeOf } from './reading.ts';

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
    const body = withoutMark(bytes);
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
    return { text: () => text, clamped };
  }
  const text = (): string => toLf(decoded()).replace(/\n$/, '');
  return file.encoding === 'utf-8' ? { text, bytes: lines, clamped: NONE } : { text, clamped: NONE };
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
