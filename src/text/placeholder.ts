import type { LineRange } from '../model/coverage.ts';
import type { CopiedText } from '../model/verdict.ts';
import { CLAMP_MARK, lineCount, splitLines, withoutEnding } from './lines.ts';

/** A line that replaces omitted text and must not be written literally. */
interface Placeholder {
  /** 1-based line number in the content. */
  readonly line: number;
  /** The text of the line, cut if it is long. */
  readonly text: string;
  readonly kind: 'line-numbers' | 'receipt' | 'redaction' | 'clamp-mark' | 'stub';
}

const MAX_TEXT_CHARS = 120;
/**
 * Matches a receipt, the last line of a read: for text, for a huge file, for a binary file, or for
 * a file of a proxied server. Does not match `[read PATH]` alone. A proxy may write that too, but
 * so do authors of Markdown.
 */
const RECEIPT =
  /^\[read .+ (?:lines \d+-\d+(?: of (?:\d+|a [\d.]+ \w+ file))?(?: revision \w+)?|as [\w.+-]+\/[\w.+-]+, \d+ bytes|revision [0-9a-f]{12})\]$/;
/** Matches marks of masked values that other tools write. For Lookfirst's own, see `maskIn` in gate/masking.ts. */
const REDACTION = /\[(?:REDACTED|secret):[A-Za-z][\w.-]*(?:#\d+)?\]/g;

interface PlaceholderOptions {
  /** The lines of the file that the session was shown, if known. */
  readonly shown?: LineRange | undefined;
  /**
   * The line of the file at which the content begins; absent if the content replaces several
   * places.
   */
  readonly at?: number | undefined;
}

/**
 * Finds the first placeholder: a line of the content that must not be written literally. Undefined
 * if there is none.
 * - Parts of Lookfirst's own answers are placeholders: line numbers, receipts, marks of masked or
 *   cut text.
 * - Stubs such as "rest unchanged" are placeholders, except in fenced Markdown examples.
 * - Lines that the existing file itself contains are allowed. `existing` returns its text.
 * - Numbers at the beginning of lines are allowed, unless they are line numbers of the existing
 *   file.
 */
export function findPlaceholder(
  content: string,
  existing: () => string | undefined,
  options: PlaceholderOptions = {},
): Placeholder | undefined {
  const suspects = suspectLines(content);
  if (suspects.length === 0) return undefined;
  const file = new ExistingLines(existing);
  const numbered = numberedIn(suspects, { content, file, ...options });
  let fenced = false;
  for (const suspect of suspects) {
    if (suspect.index === numbered) return placeholder(suspect, 'line-numbers');
    if (/^\s*(?:```|~~~)/.test(suspect.line)) fenced = !fenced;
    const kind = decorationOf(suspect.line, file) ?? (fenced ? undefined : stubOf(suspect, content));
    if (kind !== undefined && !file.hasLine(suspect.line)) return placeholder(suspect, kind);
  }
  return undefined;
}

/** Describes a placeholder for a refusal. */
export function copiedFrom({ kind, line, text }: Placeholder): CopiedText {
  const reason = `line ${line}: ${text}`;
  if (kind === 'redaction') return { cause: 'mask', reason: `a masked value, ${reason}` };
  return kind === 'line-numbers' ? { cause: kind, reason: `line numbers, ${reason}` } : { reason };
}

function placeholder(suspect: SuspectLine, kind: Placeholder['kind']): Placeholder {
  return { line: suspect.index + 1, text: suspect.line.trim().slice(0, MAX_TEXT_CHARS), kind };
}

function decorationOf(line: string, file: ExistingLines): Placeholder['kind'] | undefined {
  if (line.startsWith('[read ') && RECEIPT.test(line.trimEnd())) return 'receipt';
  if (line.endsWith(' characters]') && CLAMP_MARK.test(line)) return 'clamp-mark';
  const marks = line.includes('[') ? (line.match(REDACTION) ?? []) : [];
  return marks.some((mark) => !file.hasMark(mark)) ? 'redaction' : undefined;
}

/**
 * Checks for a stub. A stub without dots ("rest unchanged") is reported only if no comment line
 * precedes it. After a comment line, it could be the end of a longer comment.
 */
function stubOf(suspect: SuspectLine, content: string): 'stub' | undefined {
  const stub = stubIn(suspect.line);
  if (stub !== 'remark' || suspect.start === 0) return stub && 'stub';
  const before = content.slice(content.lastIndexOf('\n', suspect.start - 2) + 1, suspect.start).trimStart();
  return before.startsWith(suspect.line.trimStart().slice(0, 2)) || before.startsWith('*')
    ? undefined
    : 'stub';
}

/** The existing file's text and a lookup of its lines, made when first needed. Most contents never need them. */
class ExistingLines {
  readonly #read: () => string | undefined;
  #text: { readonly value: string | undefined } | undefined;
  #lines: ReadonlySet<string> | undefined;
  #marks: ReadonlySet<string> | undefined;

  constructor(read: () => string | undefined) {
    this.#read = read;
  }

  /** The file's text; undefined if there is no file, or if it is not text. */
  get text(): string | undefined {
    this.#text ??= { value: this.#read() };
    return this.#text.value;
  }

  /** True if the file contains this line, ignoring indentation. */
  hasLine(line: string): boolean {
    this.#lines ??= new Set(splitLines(this.text ?? '').map((one) => one.trim()));
    return this.#lines.has(line.trim());
  }

  hasMark(mark: string): boolean {
    this.#marks ??= new Set(this.text?.match(REDACTION) ?? []);
    return this.#marks.has(mark);
  }
}

/** Index of the first line that was copied from the existing file together with its line number. */
function numberedIn(
  suspects: readonly SuspectLine[],
  {
    content,
    file,
    shown,
    at,
  }: PlaceholderOptions & { readonly content: string; readonly file: ExistingLines },
): number | undefined {
  const runs = numberedRuns(suspects);
  const existing = runs.length === 0 ? undefined : file.text;
  if (existing === undefined) return undefined;
  const own = splitLines(existing).map((line) => withoutEnding(line).trimEnd());
  if (at !== undefined && isNumberedFrom(at, runs, content, own)) return suspects[0]?.index;
  return firstNumbered(runs, own, { shown, at });
}

/**
 * True if each line of a content begins with the number that it would have in the file, counted
 * from `at`. One line must also resemble the line of the file. False if lines of the file itself
 * begin with numbers.
 */
function isNumberedFrom(
  at: number,
  [run, ...others]: readonly NumberedRun[],
  content: string,
  own: readonly string[],
): boolean {
  const lines = lineCount(content);
  if (run === undefined || others.length > 0 || run.first !== at || run.texts.length !== lines) return false;
  return !hasNumbers(own) && (lines > 1 || sharesWord(run.texts[0] ?? '', own[at - 1] ?? ''));
}

function hasNumbers(lines: readonly string[]): boolean {
  return lines.some((line) => /^ *\d{1,9}[\t→]/.test(line));
}

/** True if two lines have a word in common. False if the line of the file has a number before a tab or an arrow. */
function sharesWord(text: string, own: string): boolean {
  const words = new Set(own.match(/[\p{L}_]{3,}/gu));
  return !/\d[\t→]/.test(own) && (text.match(/[\p{L}_]{3,}/gu) ?? []).some((word) => words.has(word));
}

/**
 * Index of the first line that was copied from the existing file together with its line number. A
 * single numbered line proves that only if it is at the place of that number, or if the file has
 * only one line.
 */
function firstNumbered(
  runs: readonly NumberedRun[],
  own: readonly string[],
  { shown, at = 1 }: PlaceholderOptions,
): number | undefined {
  const known = new Set(own.filter((line) => line !== ''));
  const pasted = runs.find((run) => {
    const isInPlace = run.first === at + run.index && !hasNumbers(own);
    if (run.texts.length === 1 && own.length > 1 && !isInPlace) return false;
    const repeats = run.texts.some((text, offset) => {
      const number = run.first + offset;
      const inView = shown === undefined || (shown.from <= number && number <= shown.to);
      return inView && text !== '' && own[number - 1] === text;
    });
    const familiar = run.texts.filter((text) => text === '' || known.has(text)).length;
    return repeats && familiar * 2 >= run.texts.length;
  });
  return pasted?.index;
}

/** Consecutive lines that begin with consecutive numbers and a tab or an arrow. */
interface NumberedRun {
  /** Index of the first line of the run. */
  readonly index: number;
  /** The line number at the beginning of the first line. */
  readonly first: number;
  readonly texts: string[];
}

function numberedRuns(suspects: readonly SuspectLine[]): NumberedRun[] {
  const runs: NumberedRun[] = [];
  for (const { index, line } of suspects) {
    if (!/[\t→]/.test(line)) continue;
    const [, digits, text] = /^ *(\d{1,9})[\t→](.*)$/.exec(line) ?? [];
    if (digits === undefined || text === undefined) continue;
    const last = runs.at(-1);
    const length = last?.texts.length ?? 0;
    if (last !== undefined && last.index + length === index && last.first + length === Number(digits))
      last.texts.push(text.trimEnd());
    else runs.push({ index, first: Number(digits), texts: [text.trimEnd()] });
  }
  return runs;
}

const MAX_STUB_CHARS = 160;
const OPENERS = /^(?:\/\/+|\/\*+|\{\s*\/\*+|<!--+|--+|;+|%+|#+)\s*/i;
const CLOSERS = /\s*(?:\*+\/\s*\}?|--+>)$/;
const LEADING_DOTS = /^(?:\.{3,}|…)/;
const TRAILING_DOTS = /(?:\.{3,}|…)$/;

const THING =
  '(?:file|code|function|method|class|component|module|implementation|contents?|body|script|document|config(?:uration)?|' +
  'section|imports?|methods|functions|tests?|styles?|template|page|logic|handlers?|routes?|fields?|definitions?)';
const CODE = '(?:code|file|implementation|contents?|methods|functions|imports|logic)';
const SAME =
  '(?:(?:is|are|remains?|stays?|kept|left) )?(?:exactly )?(?:unchanged|the same|same as (?:before|above|the original)|' +
  'as (?:before|is|it was|above)|unmodified|untouched|omitted|not shown|intact|elided|truncated)(?: for brevity)?';
const REST = `(?:the )?(?:rest|remainder)(?: of (?:the |this |your )?(?:\\w+ )?${THING})?`;

/**
 * Wordings that say that text is omitted. A line with one is a placeholder only if it also has a
 * comment mark, dots or square brackets.
 */
const STRONG = whole([
  `${REST} ${SAME}`,
  `(?:(?:all|the|your) )*(?:existing|remaining|previous|original|other) ${CODE} ${SAME}`,
  '(?:[\\w ]+ )?(?:omitted|truncated|elided|shortened|abbreviated) for brevity',
  `keep (?:the |all |your )*(?:existing|remaining|rest of (?:the |your )?)\\s*${CODE}(?: ${SAME})?`,
]);
/** Wordings that could be honest remarks. A line with one is a placeholder only if it also has dots. */
const WEAK = whole([
  `(?:(?:all|the|your) )*(?:existing|remaining|previous|original|other) ${THING} ${SAME}`,
  `(?:the |your )?(?:existing|previous|remaining|original|other|more|additional) ${THING}(?: (?:goes )?here| above| below)?`,
  `${REST}(?: (?:goes )?here)?`,
  `(?:unchanged|same)(?: ${THING}| lines?| part)?`,
  'same as (?:before|above)',
  `(?:${CODE}|lines|output) (?:omitted|truncated|unchanged|elided|continues)(?: here)?`,
  'omitted|truncated|elided|snip(?:ped)?|not shown',
  '\\d+ (?:more |other |unchanged |remaining )*(?:lines?|characters|chars|bytes)(?: of this diff)?(?: (?:unchanged|omitted|truncated|not shown|hidden))?',
]);
/**
 * Wordings that are placeholders even without dots, if they fill a whole comment. A comment with `#` does not count:
 * it may be a heading.
 */
const COMMENT = whole([
  `(?:the |your )?existing code(?: (?:goes |remains )?here| remains)?`,
  `(?:the )?rest of (?:the |your )?(?:file|code|implementation)(?: (?:goes )?here)?`,
  '(?:code|implementation) omitted',
]);

/** First words of stubs without dots. A cheap test, because most lines begin otherwise and the full check is slow. */
const BEGINS =
  /^(?:[/*<!#;%{-]+)?\s*[[(<]?\s*(?:(?:the|all|your)\s+)*(?:rest|remain|existing|previous|original|other|keep|code|implementation)/i;

/**
 * Detects a line that replaces text which its author omitted. Dots alone, headings, sentences and
 * strings in code do not count.
 * - `dots`: the line has dots or brackets ("// ... existing code ...").
 * - `remark`: the line has only the wording ("<!-- rest unchanged -->"), so it may also be the end
 *   of a longer comment.
 */
export function stubIn(line: string): 'dots' | 'remark' | undefined {
  const trimmed = line.trim();
  if (trimmed.length > MAX_STUB_CHARS) return undefined;
  if (!hasDots(trimmed) && !BEGINS.test(trimmed) && !trimmed.includes('brevity')) return undefined;
  const signs = { comment: '', dots: false, brackets: false };
  const core = peel(trimmed, signs);
  const marked = signs.dots || signs.brackets;
  if (STRONG.test(core) && marked) return 'dots';
  if (STRONG.test(core) && signs.comment !== '') return 'remark';
  if (WEAK.test(core) && signs.dots) return 'dots';
  return COMMENT.test(core) && signs.comment !== '' && signs.comment !== '#' ? 'remark' : undefined;
}

function hasDots(line: string): boolean {
  return line.includes('...') || line.includes('…');
}

/** Removes comment marks, dots and brackets from outside to inside, and records which ones it found. */
function peel(line: string, signs: { comment: string; dots: boolean; brackets: boolean }): string {
  let core = line;
  for (let before = ''; before !== core; ) {
    before = core;
    const opener = OPENERS.exec(core)?.[0];
    if (opener !== undefined) {
      signs.comment ||= opener.charAt(0);
      core = core.slice(opener.length).replace(CLOSERS, '');
    }
    core = withoutDots(core.trim(), signs);
    if (/^\[.*\]$|^\(.*\)$|^<.*>$/.test(core)) {
      signs.brackets ||= core.startsWith('[');
      core = core.slice(1, -1).trim();
    }
  }
  return core
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .replace(/[.:;!,]+$/, '');
}

/**
 * Removes dots around a text. Outside comments, three dots directly before a single word are a
 * spread operator and are kept.
 */
function withoutDots(core: string, signs: { comment: string; dots: boolean }): string {
  if (signs.comment === '' && /^\.{3}[\w$]+[,;]?$/.test(core)) return core;
  const bare = core.replace(LEADING_DOTS, '').replace(TRAILING_DOTS, '');
  if (bare !== core) signs.dots = true;
  return bare.trim();
}

function whole(alternatives: readonly string[]): RegExp {
  return new RegExp(`^(?:${alternatives.join('|')})$`);
}

/** A line of the content to write that may be a placeholder, without its ending. */
interface SuspectLine {
  /** 0-based line index. */
  readonly index: number;
  /** Offset in the content at which the line begins. */
  readonly start: number;
  readonly line: string;
}

/** Matches the beginning of a line with a comment, dots, a bracket, a fence or a number. */
const SUSPECT = /[\0-\t\v- ]*(?:[#;%[…0-9]|\/[/*]|<[!.…]|--|\{[/ ]|\.\.|\([.…]|``|~~)/y;
/**
 * Beginnings of Lookfirst's own marks within a line. They are short because the engine finds short strings twenty times
 * faster.
 */
const MARKS = ['[REDAC', '[secre', '[maske', '… [+'];

/**
 * Selects the lines that `findPlaceholder` must check: by their first characters, or all lines if
 * any of Lookfirst's marks occurs. This runs on every write, so it must reject most lines cheaply.
 */
function suspectLines(content: string): SuspectLine[] {
  const marked = MARKS.some((mark) => content.includes(mark));
  const suspects: SuspectLine[] = [];
  let start = 0;
  for (let index = 0; start < content.length; index += 1) {
    const newline = content.indexOf('\n', start);
    const end = newline === -1 ? content.length : newline;
    SUSPECT.lastIndex = start;
    if (marked || SUSPECT.test(content))
      suspects.push({ index, start, line: content.slice(start, content[end - 1] === '\r' ? end - 1 : end) });
    start = end + 1;
  }
  return suspects;
}
