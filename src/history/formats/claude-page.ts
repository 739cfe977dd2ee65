import { hash } from 'node:crypto';
import type { ShownText } from '../history-sighting.ts';
import type { Page } from '../tool-result.ts';
import { nextOf, oneStanding, standsAt } from './byte-match.ts';
import { endOfDigits, numberBetween } from './byte-number.ts';
import { claudeLines, type PageNumbers } from './claude-detail.ts';
import { nameBefore, type SkimmedResult } from './claude-name.ts';
import { endsInNewline } from './json-literal.ts';

/** In the order the host writes them: the text the model was shown, then the name, the time, and the page once more. */
const SHOWN = Buffer.from('"content":"');
const SPACE = 32;
/** Between a number and its line. */
const MARKS = ['\\t', '→'].map((mark) => Buffer.from(mark));
const PAGE = Buffer.from(',"toolUseResult":{"type":"text","file":{"filePath":"');
const CONTENT = Buffer.from('","content":"');
/** A quote inside a text is escaped, so these cannot stand in one. */
const CONTENT_END = Buffer.from('","numLines":');
const START = Buffer.from(',"startLine":');
const TOTAL = Buffer.from(',"totalLines":');
const AFTER = new Set(Buffer.from(',}'));
const MAX_DIGITS = 12;
/** What may follow the second text; if it is longer, the line is parsed. */
const AFTER_BYTES = 2048;

/**
 * The page in the rest of a result's line. The line shows the same text twice, once with line numbers and once as it is
 * in the file; only the second is looked at, and hashed as it stands there. Undefined if the line is not exactly as
 * expected: then it is parsed.
 */
export function skimPage(line: Buffer): SkimmedResult | undefined {
  if (!showsNumber(line)) return undefined;
  // The text with numbers is the longer one, so the other begins in the second half.
  const at = line.indexOf(PAGE, Math.max(0, (line.length - AFTER_BYTES) >> 1));
  if (at === -1) return undefined;
  const named = nameBefore(line, at);
  const page = pageAt(line, at + PAGE.length);
  return named === undefined || page === undefined ? undefined : { named, page };
}

/** Was the model shown numbered lines, and not a note in their place? */
function showsNumber(line: Buffer): boolean {
  if (!standsAt(line, SHOWN, 0)) return false;
  let at = SHOWN.length;
  while (line[at] === SPACE) at += 1;
  const end = endOfDigits(line, at);
  return end > at && oneStanding(line, MARKS, end) !== undefined;
}

function pageAt(line: Buffer, file: number): Page | undefined {
  const content = nextOf(line, CONTENT, file);
  // From the end: what follows the text is short.
  const closed = content === -1 ? -1 : line.lastIndexOf(CONTENT_END);
  if (closed < content || content === -1) return undefined;
  const said = numbersAt(line, closed + CONTENT_END.length);
  if (said === undefined) return undefined;
  const text = line.subarray(content + CONTENT.length, closed);
  const shown = claudeLines(said, text.length === 0 || endsInNewline(text));
  if (shown === undefined) return undefined;
  const { to, totalLines } = shown;
  const sha256 = hash('sha256', text);
  const hashed: ShownText = { from: shown.from, to, sha256, size: text.length, form: 'json' };
  return { shown: hashed, totalLines, exact: false, clamped: false, redacted: false };
}

/** The three numbers that follow the text; undefined if they are not exactly as expected. */
function numbersAt(line: Buffer, start: number): PageNumbers | undefined {
  const linesEnd = endOfDigits(line, start);
  const from = linesEnd + START.length;
  const fromEnd = endOfDigits(line, from);
  const total = fromEnd + TOTAL.length;
  const end = endOfDigits(line, total);
  if (!standsAt(line, START, linesEnd) || !standsAt(line, TOTAL, fromEnd)) return undefined;
  const lengths = [linesEnd - start, fromEnd - from, end - total];
  if (lengths.some((length) => length < 1 || length > MAX_DIGITS) || !AFTER.has(line[end] ?? 0))
    return undefined;
  return {
    lines: numberBetween(line, start, linesEnd),
    from: numberBetween(line, from, fromEnd),
    total: numberBetween(line, total, end),
  };
}
