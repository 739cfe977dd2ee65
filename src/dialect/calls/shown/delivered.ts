import type { LineRange } from '../../../model/coverage.ts';
import { CLAMP_MARK } from '../../../text/clamp.ts';
import { lineCount } from '../../../text/lines.ts';
import type { RecordedPage } from '../answer.ts';
import type { AskedLines } from '../touch.ts';

/** What an answer showed of one file. */
export interface ShownLines {
  /** As the call wrote it. */
  readonly path: string;
  /** The lines themselves, where the answer has them verbatim; line endings and the final newline may differ. */
  readonly content?: string;
  /**
   * Absent: the whole file. Empty: something of it, but not known which lines. Negative numbers count from the end
   * (-1 is the last line); a range may reach past it.
   */
  readonly ranges?: readonly LineRange[];
  /** Only if it is certain. */
  readonly totalLines?: number;
  /** The content is the file's own to the byte, so the hash of the whole content is the file's hash. */
  readonly exact?: true;
  /** The revision that our own receipt proves. */
  readonly revision?: string;
  /** Only part of the lines' text was shown: long lines were cut, or the file was shown as an image. */
  readonly clamped?: true;
  /** Something in the lines was blanked out. */
  readonly redacted?: true;
}

const MARKS = /(?:\.{3}|…) ?\[|\[REDACTED/;
/** `... [truncated]`, `... [123 chars truncated]` */
const FOREIGN_CLAMP = /(?:\.{3}|…) ?\[(?:\d+ )?(?:(?:chars|characters|bytes) )?(?:truncated|clamped|cut)\]$/m;
const OWN_CLAMP = new RegExp(CLAMP_MARK.source, 'm');
const REDACTED = /\[REDACTED(?::[\w-]{1,64})?\]/;

/** What was left out of a text, by the marks in it: ends of lines that were cut, and text that was blanked out. */
interface Marks {
  readonly clamped: boolean;
  readonly redacted: boolean;
}

/** Lines that were delivered for lines that were asked for. The text says how many there are, not the arguments. */
export function delivered(
  path: string,
  asked: readonly AskedLines[] | undefined,
  content: string,
): ShownLines[] {
  const only = asked?.[0];
  if (only === undefined) return [{ path, content }];
  const count = lineCount(content);
  if (count === 0) return [];
  const from = only.from < 0 ? -count : only.from;
  return [{ path, content, ranges: [{ from, to: from + count - 1 }] }];
}

/** The lines that a page is. Marks count only in a text that is not the file's own to the byte. */
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
  // One test is enough for most texts: they hold no mark at all.
  if (!MARKS.test(text)) return { clamped: false, redacted: false };
  return { clamped: OWN_CLAMP.test(text) || FOREIGN_CLAMP.test(text), redacted: REDACTED.test(text) };
}
