import { hash } from 'node:crypto';
import type { Page } from '../tool-result.ts';
import { claudeLines } from './claude-detail.ts';

/** A read's result, taken from its line without parsing it. */
export interface SkimmedPage {
  readonly uuid: string;
  readonly timestamp: string;
  readonly page: Page;
}

/** In the order the host writes them: the text the model was shown, then the name, the time, and the page once more. */
const SHOWN = /^"content":" *\d+(?:\\t|→)/;
const SHOWN_BYTES = 32;
const PAGE = Buffer.from(',"toolUseResult":{"type":"text","file":{"filePath":"');
const CONTENT = Buffer.from('","content":"');
const NAME = /"uuid":"[0-9a-f-]{36}","timestamp":"([0-9TZ:.-]{20,32})"$/;
const NAME_BYTES = 128;
const UUID_LENGTH = 36;
/** A quote inside the text is escaped, so these cannot stand in it. */
const CONTENT_END = Buffer.from('","numLines":');
const NUMBERS = /^","numLines":(\d{1,12}),"startLine":(\d{1,12}),"totalLines":(\d{1,12})[,}]/;
const NUMBERS_BYTES = 100;
const BACKSLASH = 92;
const LETTER_N = 110;

/**
 * The page in the rest of a result's line. The line shows the same text twice, once with line numbers and once as it is
 * in the file; only the second is looked at, and hashed as it stands there. Undefined if the line is not exactly as
 * expected: then it is parsed.
 */
export function skimPage(bytes: Buffer, rest: number, end: number): SkimmedPage | undefined {
  if (!SHOWN.test(bytes.toString('utf8', rest, rest + SHOWN_BYTES))) return undefined;
  const at = bytes.indexOf(PAGE, rest);
  if (at === -1 || at >= end) return undefined;
  const match = NAME.exec(bytes.toString('latin1', Math.max(rest, at - NAME_BYTES), at));
  const timestamp = match?.[1];
  const page = pageAt(bytes, at + PAGE.length, end);
  if (match === null || timestamp === undefined || page === undefined) return undefined;
  const named = at - match[0].length + '"uuid":"'.length;
  // Copied out of the bytes: a piece of a longer string would keep all of it alive.
  return { uuid: bytes.toString('latin1', named, named + UUID_LENGTH), timestamp, page };
}

function pageAt(bytes: Buffer, file: number, end: number): Page | undefined {
  const content = bytes.indexOf(CONTENT, file);
  const closed = content === -1 ? -1 : bytes.indexOf(CONTENT_END, content);
  if (closed === -1 || closed >= end) return undefined;
  const [, lines, from, total] = NUMBERS.exec(bytes.toString('latin1', closed, closed + NUMBERS_BYTES)) ?? [];
  if (from === undefined) return undefined;
  const text = bytes.subarray(content + CONTENT.length, closed);
  const said = { from: Number(from), lines: Number(lines), total: Number(total) };
  const shown = claudeLines(said, text.length === 0 || endsInNewline(text));
  if (shown === undefined) return undefined;
  const { totalLines } = shown;
  const hashed = { sha256: hash('sha256', text), size: text.length, form: 'json' } as const;
  const page = { exact: false, clamped: false, redacted: false };
  return {
    shown: { from: shown.from, to: shown.to, ...hashed },
    ...page,
    ...(totalLines === undefined ? undefined : { totalLines }),
  };
}

/** Does a text as JSON writes it end in `\\n`? After an even number of backslashes the letter means itself. */
function endsInNewline(text: Buffer): boolean {
  let at = text.length - 1;
  if (text[at] !== LETTER_N) return false;
  while (at > 0 && text[at - 1] === BACKSLASH) at -= 1;
  return (text.length - 1 - at) % 2 === 1;
}
