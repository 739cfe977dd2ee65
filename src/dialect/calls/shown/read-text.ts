import type { LineRange } from '../../../model/coverage.ts';
import { lineCount } from '../../../text/lines.ts';
import type { Answer } from '../answer.ts';
import type { AskedLines, ReadTouch } from '../touch.ts';
import { isLimitedTail, pageShown, type ShownLines } from './delivered.ts';
import { isBlanked, type Receipt, takeReceipts } from './receipt.ts';

/**
 * A read, its answer, and the names that a receipt may use for its file. A receipt is the last line
 * of a Lookfirst read: `[read PATH …]`.
 */
interface Read {
  readonly touch: ReadTouch;
  readonly answer: Answer;
  readonly names: readonly string[];
}

/** Numbered lines that a read showed. */
interface NumberedText {
  readonly from: number;
  readonly to: number;
  /** The lines without their numbers, joined with `\n`. */
  readonly text: string;
}

/**
 * The lines that a host's read tool showed, or that a command printed from a file. Undefined if the
 * answer does not prove that it showed the file. `names`: the spellings of the path that a
 * Lookfirst receipt (`[read PATH …]`) may use.
 */
export function readText(
  touch: ReadTouch,
  answer: Answer,
  names: readonly string[] = [touch.path],
): ShownLines | undefined {
  const isCommand = touch.shown.as === 'output';
  if (answer.page !== undefined && !isCommand) return pageShown(touch.path, answer.page);
  const given = answer.texts?.join('\n');
  const text = isCommand ? (answer.output ?? given) : given;
  if (text === undefined) return answer.flagged ? unrecorded(touch) : undefined;
  const read = { touch, answer, names };
  const shown = isCommand ? bodyShown(read, text) : receiptedShown(read, text);
  const { revision } = answer;
  return shown === undefined || revision === undefined ? shown : { ...shown, revision };
}

function receiptedShown(read: Read, text: string): ShownLines | undefined {
  const receipted = takeReceipts(text);
  const receipt = receipted.receipts.find(({ path }) => read.names.includes(path));
  if (receipt === undefined) {
    // The receipt names another file. If the text above the receipt is numbered, that text shows
    // the other file. Otherwise the receipt is a line of the requested file.
    const isUnclear = receipted.receipts.length > 0 && parseNumbered(receipted.body) !== undefined;
    return isUnclear ? undefined : bodyShown(read, text);
  }
  const shown = receiptShown(read.touch, receipt, receipted.body);
  return shown !== undefined && receipted.clamped ? { ...shown, clamped: true } : shown;
}

function bodyShown(read: Read, text: string): ShownLines | undefined {
  const { touch, answer } = read;
  const numbers = numbersOf(touch);
  if (numbers === undefined || isBlanked(text)) return undefined;
  const shown = numbers === 'never' ? undefined : numberedShown(read, text);
  if (shown !== undefined) return shown;
  return numbers === 'always' || !answer.flagged ? emptyShown(touch, text) : plainShown(touch, text);
}

/**
 * Whether the shown lines are numbered. Undefined if only receipts (`[read PATH …]`) prove which
 * lines were shown.
 */
function numbersOf({ shown }: ReadTouch): 'always' | 'maybe' | 'never' | undefined {
  if (shown.as === 'lines' || shown.as === 'output') return shown.numbers;
  return shown.as === 'receipts' ? undefined : 'never';
}

/**
 * The lines of a successful read whose text the host did not record. The requested lines count as
 * seen, although they cannot be compared with the file.
 */
function unrecorded(touch: ReadTouch): ShownLines {
  const { path } = touch;
  const { from, to } = askedOf(touch);
  if (!isRanged(touch)) return { path };
  return from >= 1 && to !== undefined && to >= from
    ? { path, ranges: [{ from, to }] }
    : { path, ranges: [] };
}

/**
 * The lines that a Lookfirst receipt (`[read PATH lines A-B …]`) names, even if the call requested
 * others. The caller has checked that the receipt names the requested file. Undefined if the host
 * has removed some of these lines since.
 */
function receiptShown(touch: ReadTouch, receipt: Receipt, body: string): ShownLines | undefined {
  const { path } = touch;
  const { range, totalLines, revision } = receipt;
  const proof = revision === undefined ? {} : { revision };
  if (body !== '' && isBlanked(body)) return undefined;
  if (range === undefined) return { path, ...proof, ...(isRanged(touch) ? { ranges: [] } : {}) };
  const known = totalLines === undefined ? {} : { totalLines };
  if (touch.shown.as === 'receipts') return { path, ...proof, ...known, ranges: [range] };
  const numbered = parseNumbered(body);
  if (!showsAll(range, numbered, body)) return undefined;
  const exact = numbered === undefined;
  return { ...pageShown(path, { content: numbered?.text ?? body, ...range, ...known, exact }), ...proof };
}

/** True if the text has exactly the lines that the receipt (the row `[read PATH lines A-B …]`) names. */
function showsAll(range: LineRange, numbered: NumberedText | undefined, body: string): boolean {
  if (numbered !== undefined) return numbered.from === range.from && numbered.to === range.to;
  return lineCount(body) === (range.to === 0 ? 0 : range.to - range.from + 1);
}

function numberedShown({ touch, answer }: Read, body: string): ShownLines | undefined {
  const numbered = parseNumbered(undecorated(body));
  if (numbered === undefined) return undefined;
  const { from, to, text: content } = numbered;
  const { path } = touch;
  if (!endsThere(touch, from, to)) return pageShown(path, { content, from, to, exact: false });
  const emptyEnd = answer.countsEmptyEnd === true && content.endsWith('\n');
  return pageShown(
    path,
    emptyEnd
      ? { content, from, to: to - 1, totalLines: to - 1, exact: true }
      : { content, from, to, totalLines: to, exact: false },
  );
}

function plainShown(touch: ReadTouch, content: string): ShownLines | undefined {
  const lines = lineCount(content);
  const { from, to } = askedOf(touch);
  if (from < 0) return tailShown(touch, content);
  // A text with more lines than requested does not consist of the requested lines, so it proves
  // nothing.
  if (to !== undefined && to > 0 && lines > to - from + 1) return undefined;
  const last = from + lines - 1;
  const exact = isExact(touch, content);
  const end = endsThere(touch, from, last) ? { totalLines: last } : {};
  return pageShown(touch.path, { content, from, to: last, exact, ...end });
}

/**
 * The lines that a read from the end of a file showed, such as a read of the last N lines.
 * - A text with the requested number of lines gets negative line numbers, because the length of the
 *   file is unknown.
 * - A shorter text is the whole file, unless the call also has a limit or a last line.
 * Undefined if it is uncertain which lines the text consists of.
 */
function tailShown(touch: ReadTouch, content: string): ShownLines | undefined {
  const { from, to } = askedOf(touch);
  const lines = lineCount(content);
  if (isLimitedTail({ from, to }, lines))
    return pageShown(touch.path, { content, from, to: from + lines - 1, exact: false });
  if (lines === -from) return pageShown(touch.path, { content, from, to: -1, exact: false });
  if (lines > -from || to !== undefined) return undefined;
  const exact = isExact(touch, content);
  return pageShown(touch.path, { content, from: 1, to: lines, totalLines: lines, exact });
}

/**
 * True if the shown text reaches the end of the file: the call named no last line, or the text ends
 * before that line.
 */
function endsThere(touch: ReadTouch, from: number, last: number): boolean {
  const { from: first, to } = askedOf(touch);
  if (to === undefined) return true;
  return first > 0 && to > 0 && (last < to || from > last);
}

/**
 * True if the text has the exact bytes of the file. Hosts strip the final newline of a command's
 * output, so output without one may differ from the file.
 */
function isExact(touch: ReadTouch, content: string): boolean {
  return touch.shown.as !== 'output' || content.endsWith('\n');
}

/** Detects the message that a host returns for an empty file. Undefined for any other text. */
function emptyShown({ path }: ReadTouch, body: string): ShownLines | undefined {
  const isEmpty = /\bfile exists but the contents are empty\b/.test(body.slice(0, 200));
  return isEmpty ? { path, totalLines: 0 } : undefined;
}

/** The lines that a read requests. Negative numbers count from the end. An undefined `to` means to the end. */
function askedOf({ asked }: ReadTouch): AskedLines {
  const { from, to } = asked?.[0] ?? { from: 1, to: undefined };
  return { from, to: to === -1 || to === 0 ? undefined : to };
}

/** True if the call requests only a part of the file. */
function isRanged(touch: ReadTouch): boolean {
  const { from, to } = askedOf(touch);
  return from !== 1 || to !== undefined;
}

/** Removes a heading and the reminders that some hosts put around numbered lines. */
function undecorated(body: string): string {
  let text = body.startsWith("Here's the ") ? body.slice(body.indexOf('\n') + 1) : body;
  for (let trimmed = text.trimEnd(); trimmed.endsWith('</system-reminder>'); trimmed = text.trimEnd()) {
    const start = trimmed.lastIndexOf('<system-reminder>');
    if (start === -1) break;
    // Strip only newlines: an empty last line ends in the tab after its number, and that tab must
    // stay.
    let end = start;
    while (trimmed[end - 1] === '\n') end -= 1;
    text = trimmed.slice(0, end);
  }
  return text;
}

/**
 * Parses lines of the form `N<TAB>text` (also padded, or with an arrow), numbered without gaps. Undefined if any line
 * has another form.
 */
function parseNumbered(text: string): NumberedText | undefined {
  const first = numberAt(text, 0);
  if (first === undefined) return undefined;
  const lines: string[] = [];
  let start = 0;
  while (start <= text.length) {
    const number = start === 0 ? first : numberAt(text, start);
    if (number === undefined || number.value !== first.value + lines.length) return undefined;
    const newline = text.indexOf('\n', number.end);
    const end = newline === -1 ? text.length : newline;
    lines.push(text.slice(number.end, end));
    start = end + 1;
    // A final newline ends the last line and does not begin another.
    if (start === text.length) break;
  }
  return { from: first.value, to: first.value + lines.length - 1, text: lines.join('\n') };
}

/** Matches the number at the beginning of a line, and the mark after it. */
const NUMBER = / {0,12}(\d{1,12})[\t\u2192]/y;

/** The number at the beginning of a line, and where its text begins. */
function numberAt(text: string, start: number): { readonly value: number; readonly end: number } | undefined {
  NUMBER.lastIndex = start;
  const digits = NUMBER.exec(text)?.[1];
  return digits === undefined ? undefined : { value: Number(digits), end: NUMBER.lastIndex };
}
