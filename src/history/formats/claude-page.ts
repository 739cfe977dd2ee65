import { hash } from 'node:crypto';
import type { ShownText } from '../history-sighting.ts';
import type { Page } from '../tool-result.ts';
import { claudeLines } from './claude-detail.ts';
import { nameBefore, type SkimmedResult } from './claude-name.ts';
import { endsInNewline } from './json-literal.ts';

/** In the order the host writes them: the text the model was shown, then the name, the time, and the page once more. The arrow is in bytes. */
const SHOWN = /^"content":" *\d+(?:\\t|\xe2\x86\x92)/;
const SHOWN_BYTES = 32;
const PAGE = Buffer.from(',"toolUseResult":{"type":"text","file":{"filePath":"');
const CONTENT = Buffer.from('","content":"');
/** A quote inside a text is escaped, so these cannot stand in one. */
const CONTENT_END = Buffer.from('","numLines":');
const NUMBERS = /^","numLines":(\d{1,12}),"startLine":(\d{1,12}),"totalLines":(\d{1,12})[,}]/;
const NUMBERS_BYTES = 100;
/** What may follow the second text; if it is longer, the line is parsed. */
const AFTER_BYTES = 2048;

/**
 * The page in the rest of a result's line. The line shows the same text twice, once with line numbers and once as it is
 * in the file; only the second is looked at, and hashed as it stands there. Undefined if the line is not exactly as
 * expected: then it is parsed.
 */
export function skimPage(line: Buffer): SkimmedResult | undefined {
  if (!SHOWN.test(line.toString('latin1', 0, SHOWN_BYTES))) return undefined;
  // The text with numbers is the longer one, so the other begins in the second half.
  const at = line.indexOf(PAGE, Math.max(0, (line.length - AFTER_BYTES) >> 1));
  if (at === -1) return undefined;
  const named = nameBefore(line, at);
  const page = pageAt(line, at + PAGE.length);
  return named === undefined || page === undefined ? undefined : { named, page };
}

function pageAt(line: Buffer, file: number): Page | undefined {
  const content = line.indexOf(CONTENT, file);
  // From the end: what follows the text is short.
  const closed = content === -1 ? -1 : line.lastIndexOf(CONTENT_END);
  if (closed < content || content === -1) return undefined;
  const [, lines, from, total] = NUMBERS.exec(line.toString('latin1', closed, closed + NUMBERS_BYTES)) ?? [];
  if (from === undefined) return undefined;
  const text = line.subarray(content + CONTENT.length, closed);
  const said = { from: Number(from), lines: Number(lines), total: Number(total) };
  const shown = claudeLines(said, text.length === 0 || endsInNewline(text));
  if (shown === undefined) return undefined;
  const { to, totalLines } = shown;
  const sha256 = hash('sha256', text);
  const hashed: ShownText = { from: shown.from, to, sha256, size: text.length, form: 'json' };
  return { shown: hashed, totalLines, exact: false, clamped: false, redacted: false };
}
