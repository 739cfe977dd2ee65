import type { LineRange } from '../model/coverage.ts';
import { CLAMP_MARK } from './clamp.ts';
import { lineCount, splitLines, withoutEnding } from './lines.ts';
import { stubIn } from './stub.ts';
import { type SuspectLine, suspectLines } from './suspect-lines.ts';

/** A line that stands for other text and must not be written as it is. */
export interface Placeholder {
  /** 1-based, in the content. */
  readonly line: number;
  /** The line, bounded. */
  readonly text: string;
  readonly kind: 'line-numbers' | 'receipt' | 'redaction' | 'clamp-mark' | 'stub';
}

const MAX_TEXT_CHARS = 120;
const RECEIPT = /^\[read .+ lines \d+-\d+(?: of \d+)?(?: revision \w+)?\]$/;
const REDACTION = /\[(?:REDACTED|secret):[A-Za-z][\w.-]*(?:#\d+)?\]/g;

export interface PlaceholderOptions {
  /** The lines of the file that were shown, if that is known. */
  readonly shown?: LineRange;
  /** The line of the file at which the content goes in, if it is one piece. */
  readonly at?: number;
}

/**
 * The first line of a content that is our own decoration of a read (line numbers, receipt, redaction mark, mark of a
 * clamped line) or a stub such as "rest unchanged"; undefined if there is none.
 * What the existing file holds itself is no placeholder. Line numbers count only where they number the existing file's
 * own lines, in what was `shown` if that is known; a new table of numbers and tabs is fine. Stubs in fenced examples are fine.
 */
export function findPlaceholder(
  content: string,
  existing: string | undefined,
  options: PlaceholderOptions = {},
): Placeholder | undefined {
  const suspects = suspectLines(content);
  if (suspects.length === 0) return undefined;
  const file = new Existing(existing ?? '');
  const numbered =
    existing === undefined ? undefined : numberedIn(suspects, { content, existing, ...options });
  let fenced = false;
  for (const suspect of suspects) {
    if (suspect.index === numbered) return placeholder(suspect, 'line-numbers');
    if (/^\s*(?:```|~~~)/.test(suspect.line)) fenced = !fenced;
    const kind = decorationOf(suspect.line, file) ?? (fenced ? undefined : stubOf(suspect, content));
    if (kind !== undefined && !file.hasLine(suspect.line)) return placeholder(suspect, kind);
  }
  return undefined;
}

function placeholder(suspect: SuspectLine, kind: Placeholder['kind']): Placeholder {
  return { line: suspect.index + 1, text: suspect.line.trim().slice(0, MAX_TEXT_CHARS), kind };
}

function decorationOf(line: string, file: Existing): Placeholder['kind'] | undefined {
  if (line.startsWith('[read ') && RECEIPT.test(line.trimEnd())) return 'receipt';
  if (line.endsWith(' characters]') && CLAMP_MARK.test(line)) return 'clamp-mark';
  const marks = line.includes('[') ? (line.match(REDACTION) ?? []) : [];
  return marks.some((mark) => !file.hasMark(mark)) ? 'redaction' : undefined;
}

/** A remark without dots counts only where no comment stands right before it: it could be the end of a sentence. */
function stubOf(suspect: SuspectLine, content: string): 'stub' | undefined {
  const stub = stubIn(suspect.line);
  if (stub !== 'remark' || suspect.start === 0) return stub && 'stub';
  const before = content.slice(content.lastIndexOf('\n', suspect.start - 2) + 1, suspect.start).trimStart();
  return before.startsWith(suspect.line.trimStart().slice(0, 2)) || before.startsWith('*')
    ? undefined
    : 'stub';
}

/** What the file holds, looked up only when there is a suspicion: most contents raise none. */
class Existing {
  readonly #text: string;
  #lines: ReadonlySet<string> | undefined;
  #marks: ReadonlySet<string> | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** Indentation aside. */
  hasLine(line: string): boolean {
    this.#lines ??= new Set(splitLines(this.#text).map((one) => one.trim()));
    return this.#lines.has(line.trim());
  }

  hasMark(mark: string): boolean {
    this.#marks ??= new Set(this.#text.match(REDACTION) ?? []);
    return this.#marks.has(mark);
  }
}

/** Index of the first line that carries a number of the existing file's lines. */
function numberedIn(
  suspects: readonly SuspectLine[],
  {
    content,
    existing,
    shown,
    at,
  }: PlaceholderOptions & { readonly content: string; readonly existing: string },
): number | undefined {
  if (at !== undefined && isNumberedFrom(at, suspects, content, existing)) return suspects[0]?.index;
  return firstNumbered(suspects, existing, shown);
}

/** Whether every line of a content carries the number of the line it becomes, in a file whose lines have no numbers. */
function isNumberedFrom(
  at: number,
  suspects: readonly SuspectLine[],
  content: string,
  existing: string,
): boolean {
  const [run, ...others] = numberedRuns(suspects);
  const lines = lineCount(content);
  if (run === undefined || others.length > 0 || lines < 2) return false;
  return run.first === at && run.texts.length === lines && !/^ *\d{1,9}[\t→]/m.test(existing);
}

/** Index of the first of several lines in a row that repeat the numbering of the existing file. */
function firstNumbered(
  suspects: readonly SuspectLine[],
  existing: string,
  shown: LineRange | undefined,
): number | undefined {
  const runs = numberedRuns(suspects);
  if (runs.length === 0) return undefined;
  const own = splitLines(existing).map((line) => withoutEnding(line).trimEnd());
  const known = new Set(own.filter((line) => line !== ''));
  const pasted = runs.find((run) => {
    // One numbered line proves nothing, unless it is all there is.
    if (run.texts.length === 1 && own.length > 1) return false;
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

/** Lines in a row that begin with consecutive numbers and a tab. */
interface NumberedRun {
  /** Index of the first of them. */
  readonly index: number;
  /** Its number. */
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
