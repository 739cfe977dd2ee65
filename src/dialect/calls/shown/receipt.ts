import type { LineRange } from '../../../model/coverage.ts';
import { parseJson } from '../../../model/record.ts';

/**
 * The receipt that Lookfirst's tools put at the end of a read: `[read PATH lines A-B of N revision R]`; unknown parts
 * are absent.
 */
export interface Receipt {
  /** The path as the caller wrote it. */
  readonly path: string;
  readonly range?: LineRange;
  readonly totalLines?: number;
  readonly revision?: string;
}

/** A result, split into its text and the receipts that Lookfirst's tools added below it. */
interface Receipted {
  readonly body: string;
  readonly receipts: readonly Receipt[];
  /** True if a note above the receipt says that lines were cut. */
  readonly clamped: boolean;
}

/**
 * Matches a receipt. Earlier versions of Lookfirst wrote revisions of 32 digits. Such a revision is
 * parsed, but it never equals the 12 digits of a current one.
 */
const RECEIPT =
  /^\[read (.+?)(?: lines (\d{1,15})-(\d{1,15}) of (?:(\d{1,15})|a [^\]]{1,40} file))?(?: revision ([0-9a-f]{12}(?:[0-9a-f]{20})?))?\]$/;
const NOTE = /^\((?:the file is |lines? \d).*\)$/;
const CLAMPED = /: only the beginning is shown\b/;
/** At most this many lines of a result are searched for receipts or revisions; the others are ignored. */
const MAX_LINES = 1000;
const CHANGED = /^\[revision ([0-9a-f]{12}(?:[0-9a-f]{20})?)[ \]]/;

/**
 * Removes the receipts (`[read PATH …]`) at the end of a result. Any tool can write such a line, so
 * the caller must compare the receipt's path with the path in the call.
 */
export function takeReceipts(text: string): Receipted {
  const receipts: Receipt[] = [];
  let clamped = false;
  let end = withoutNewlines(text);
  for (let taken = 0; taken < MAX_LINES && /[\])]/.test(text.charAt(end - 1)); taken += 1) {
    const start = text.lastIndexOf('\n', end - 1) + 1;
    const line = text.slice(start, end);
    const receipt = parseReceipt(line);
    if (receipt !== undefined) receipts.unshift(receipt);
    else if (receipts.length === 0 || !NOTE.test(line)) break;
    else clamped ||= CLAMPED.test(line);
    end = start === 0 ? 0 : start - 1;
  }
  return receipts.length === 0
    ? { body: text, receipts, clamped }
    : { body: text.slice(0, end), receipts, clamped };
}

/**
 * The revision that the result of a Lookfirst change gives for a path. The result of a single
 * change has it on the second line, the result of a batch in the file's row. All other text is
 * ignored, because it may quote the file.
 */
export function changedRevision(text: string, path: string): string | undefined {
  const [first = '', second = '', ...more] = text.split('\n', MAX_LINES);
  if (/^(?:wrote|replaced|inserted) /.test(first)) return CHANGED.exec(second)?.[1];
  if (!first.startsWith('changed ')) return undefined;
  const ending = ` ${path}, revision `;
  for (const row of [second, ...more]) {
    const at = row.lastIndexOf(ending);
    if (row.startsWith('- ') && at > 0) return hexOf(row.slice(at + ending.length));
  }
  return undefined;
}

function parseReceipt(line: string): Receipt | undefined {
  const [, path, from, to, total, revision] = RECEIPT.exec(line) ?? [];
  if (path === undefined) return undefined;
  return {
    path: unquoted(path),
    ...(from === undefined ? {} : { range: { from: Number(from), to: Number(to) } }),
    ...(total === undefined ? {} : { totalLines: Number(total) }),
    ...(revision === undefined ? {} : { revision }),
  };
}

/**
 * Decodes a path that is written as JSON. Receipts quote a path that could be mistaken for other
 * parts of the line.
 */
function unquoted(path: string): string {
  const parsed = path.startsWith('"') ? parseJson(path) : undefined;
  return typeof parsed === 'string' ? parsed : path;
}

function hexOf(text: string): string | undefined {
  return /^[0-9a-f]{12}(?:[0-9a-f]{20})?$/.test(text) ? text : undefined;
}

function withoutNewlines(text: string): number {
  let end = text.length;
  while (end > 0 && text.charAt(end - 1) === '\n') end -= 1;
  return end;
}

/**
 * Notes that replace a result that the host removed from the context: `[Old tool result content cleared]`, `[cleared]`.
 */
const ALONE =
  /^[[<(][^\n]{0,120}\b(?:cleared|trimmed|pruned|omitted|removed|masked|compacted|elided|truncated)\b[^\n]{0,120}[\])>]$/i;
/** Notes below the remaining lines of a shortened result: `[results truncated to save space.]`. */
const NOTE_BELOW =
  /^\[(?:tool )?(?:results?|output|content)\b[^\n]{0,80}\b(?:cleared|trimmed|omitted|truncated)\b[^\n]{0,80}\]$/i;
const TAGS = ['<persisted-output>', '<truncated-output>', '<tool_output_masked>'];
/** Marks in the middle of a result that was too long for the host. */
const CUT =
  /…\d+ (?:tokens|chars|characters|bytes|lines) truncated…|\[\.{3} ?\d+ (?:lines|characters) truncated ?\.{3}\]/;

/**
 * True if a note in this result says that the host later emptied or shortened it. In doubt returns
 * true. The only cost: a file whose text looks like such a note must be read once more.
 */
export function isBlanked(text: string): boolean {
  const trimmed = text.trimEnd();
  if (trimmed === '') return true;
  const lastLine = trimmed.lastIndexOf('\n') + 1;
  if (lastLine === 0 && ALONE.test(trimmed)) return true;
  if (lastLine > 0 && NOTE_BELOW.test(trimmed.slice(lastLine))) return true;
  return TAGS.some((tag) => trimmed.startsWith(tag)) || (trimmed.includes('truncated') && CUT.test(trimmed));
}
