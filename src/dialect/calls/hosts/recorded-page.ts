import { integerIn, type JsonRecord, objectIn, stringIn } from '../../../model/record.ts';
import { lineCount } from '../../../text/lines.ts';
import type { RecordedPage } from '../answer.ts';

/**
 * The page that Claude Code records of a read: `{content, startLine, numLines, totalLines}`. Its total counts the empty
 * line after a final newline. That line is dropped if the page reaches the end; otherwise the total is unknown.
 */
export function claudePage(file: JsonRecord): RecordedPage | undefined {
  const content = stringIn(file, 'content');
  const from = integerIn(file, 'startLine');
  const lines = integerIn(file, 'numLines');
  const total = integerIn(file, 'totalLines');
  if (content === undefined || from === undefined || lines === undefined || total === undefined)
    return undefined;
  if (from < 1 || lines < 0) return undefined;
  if (from + lines - 1 < total) return { content, from, to: from + lines - 1, exact: true };
  const last = from - 1 + lineCount(content);
  return { content, from, to: last, totalLines: last, exact: true };
}

const GEMINI_PAGE =
  /^\nIMPORTANT: The file content has been truncated\.\nStatus: Showing lines (\d{1,12})-(\d{1,12}) of (\d{1,12}) total lines\.\n/;
const GEMINI_TEXT = '\n--- FILE CONTENT (truncated) ---\n';

/** The page in a text of Gemini CLI. Like Claude Code's, its total counts the empty line after a final newline. */
export function geminiPage(text: string): RecordedPage | undefined {
  const [, first, last, total] = GEMINI_PAGE.exec(text) ?? [];
  const start = text.indexOf(GEMINI_TEXT);
  if (first === undefined || start === -1) return undefined;
  const content = text.slice(start + GEMINI_TEXT.length);
  const from = Number(first);
  if (Number(last) < Number(total)) return { content, from, to: Number(last), exact: false };
  const to = from - 1 + lineCount(content);
  return { content, from, to, totalLines: to, exact: false };
}

/** The page that opencode records of a read: `{text, lineStart, lineEnd, totalLines}`. */
export function opencodePage(metadata: JsonRecord): RecordedPage | undefined {
  const display = objectIn(metadata, 'display') ?? {};
  const content = stringIn(display, 'text');
  const from = integerIn(display, 'lineStart');
  const to = integerIn(display, 'lineEnd');
  if (display['type'] !== 'file' || content === undefined || from === undefined || to === undefined)
    return undefined;
  const totalLines = integerIn(display, 'totalLines');
  return { content, from, to, totalLines, exact: false };
}
