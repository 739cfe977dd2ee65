import type { LineRange } from '../../../model/coverage.ts';
import { CLAMP_MARK, lineCount } from '../../../text/lines.ts';
import type { RecordedPage } from '../answer.ts';
import type { AskedLines } from '../touch.ts';

/** The part of one file that an answer showed. */
export interface ShownLines {
  /** The path as the call wrote it. */
  readonly path: string;
  /** The lines themselves, if the answer contains them verbatim; line endings and the final newline may differ. */
  readonly content?: string;
  /**
   * The shown lines. Absent: the whole file. Empty: some lines, but unknown which. Negative numbers count from the
   * end (-1 is the last line); a range may extend past the end.
   */
  readonly ranges?: readonly LineRange[];
  /** The number of lines in the file; present only if it is certain. */
  readonly totalLines?: number;
  /** True if the content equals the file byte for byte, so that its hash is the file's hash. */
  readonly exact?: true;
  /** The file's revision, if a Lookfirst tool named it in the answer. */
  readonly revision?: string;
  /** True if the lines were shown only in part: long lines were cut, or the file was shown as an image. */
  readonly clamped?: true;
  /** True if the content may hold other text too, so that only the file's lines in it count. */
  readonly isFound?: true;
  /** `output`: the lines came from a diff, which does not count as a read. */
  readonly how?: 'output';
  /** True if parts of the lines were masked. */
  readonly redacted?: true;
}

const MARKS = /(?:\.{3}|…) ?\[|\[REDACTED/;
/**
 * Matches the marks with which other tools cut a long line, such as `... [truncated]` and `... [123 chars
 * truncated]`.
 */
const FOREIGN_CLAMP = /(?:\.{3}|…) ?\[(?:\d+ )?(?:(?:chars|characters|bytes) )?(?:truncated|clamped|cut)\]$/m;
const OWN_CLAMP = new RegExp(CLAMP_MARK.source, 'm');
const REDACTED = /\[REDACTED(?::[\w-]{1,64})?\]/;

/** Whether a text contains marks of cut lines (`clamped`) or of masked parts (`redacted`). */
interface Marks {
  readonly clamped: boolean;
  readonly redacted: boolean;
}

/**
 * The lines that an answer showed. The number of the last line is computed from the number of lines
 * in the text, because a server may return fewer lines than requested.
 */
export function delivered(
  path: string,
  asked: readonly AskedLines[] | undefined,
  content: string,
): ShownLines[] {
  const only = asked?.[0];
  if (only === undefined) return [{ path, content }];
  const count = lineCount(content);
  if (count === 0) return [];
  const from = only.from < 0 && !isLimitedTail(only, count) ? -count : only.from;
  return [{ path, content, ranges: [{ from, to: from + count - 1 }] }];
}

/**
 * True if a call requests lines that end before the end of the file, such as -10 to -6, and `count`
 * is exactly their number.
 */
export function isLimitedTail({ from, to = -1 }: AskedLines, count: number): boolean {
  return from < 0 && to < -1 && count === to - from + 1;
}

/**
 * Converts the lines that a host recorded of a read. Looks for marks of cut or masked text only if
 * the text may differ from the file's bytes.
 */
export function pageShown(path: string, page: RecordedPage): ShownLines {
  const { content, from, to, totalLines, exact } = page;
  const { clamped, redacted } = exact ? { clamped: false, redacted: false } : marksIn(content);
  const isWhole = totalLines === 0 || (from === 1 && to === totalLines);
  return {
    path,
    content,
    ...(isWhole ? {} : { ranges: [{ from, to }] }),
    ...(totalLines === undefined ? {} : { totalLines }),
    ...(exact ? { exact } : {}),
    ...(clamped ? { clamped } : {}),
    ...(redacted ? { redacted } : {}),
  };
}

function marksIn(text: string): Marks {
  // Most texts contain no mark, so this one test suffices for them.
  if (!MARKS.test(text)) return { clamped: false, redacted: false };
  return { clamped: OWN_CLAMP.test(text) || FOREIGN_CLAMP.test(text), redacted: REDACTED.test(text) };
}
