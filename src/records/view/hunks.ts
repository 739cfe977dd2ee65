import { diffLines, equalRuns, type Hunk } from '../../text/diff.ts';
import { splitLines, withoutEnding } from '../../text/lines.ts';
import { grouped } from '../../text/unified.ts';
import type { DiffRow, FileDiff } from './view-data.ts';

/** The number of unchanged lines that are shown before and after a hunk, unless the user wants more. */
const CONTEXT = 3;
const MAX_ROWS = 2000;
const MAX_ROW_CHARS = 2000;
/**
 * In longer lines, changed words are not marked, because comparing the words would take too long.
 */
const MAX_MARKED_CHARS = 500;
/** If more than this part of a line would be marked, no words of the line are marked. */
const MAX_MARKED_PART = 0.7;
const WORDS = /\p{L}[\p{L}\p{N}_]*|\p{N}+|\s+|./gu;

/** The rows of a diff and their numbers. */
type DiffParts = Pick<FileDiff, 'added' | 'removed' | 'groups' | 'cut' | 'hidden'>;

/**
 * The hunks of a diff as rows, grouped with the lines around them. `show` masks secrets and must
 * keep the number of lines. Hunks are computed before masking, because an undo selects a hunk by
 * its number.
 */
export function diffGroups(
  before: string,
  after: string,
  show: (text: string) => string = (text) => text,
  context: number = CONTEXT,
): DiffParts {
  const { hunks } = diffLines(before, after);
  const texts = { before: splitLines(show(before)), after: splitLines(show(after)) };
  const groups: DiffRow[][] = [];
  let left = MAX_ROWS;
  let cut = 0;
  let number = 0;
  for (const near of grouped(hunks, context)) {
    // Make only the rows that are shown: a diff may have hundreds of thousands.
    const rows = left === 0 ? [] : rowsOf(near, { number, texts, context, most: left });
    if (rows.length > 0) groups.push(rows);
    left -= rows.length;
    cut += rowCount(near, texts, context) - rows.length;
    number += near.length;
  }
  const counts = sizeOfHunks(hunks);
  const unchanged = groups.flat().filter(({ sign }) => sign === ' ').length;
  return { ...counts, groups, cut, hidden: texts.before.length - counts.removed - unchanged };
}

export function sizeOfHunks(hunks: readonly Hunk[]): Pick<FileDiff, 'added' | 'removed'> {
  const count = (size: (hunk: Hunk) => number): number => hunks.reduce((sum, hunk) => sum + size(hunk), 0);
  return {
    added: count(({ afterStart, afterEnd }) => afterEnd - afterStart),
    removed: count(({ beforeStart, beforeEnd }) => beforeEnd - beforeStart),
  };
}

interface Texts {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

interface RowRequest {
  /** Number of the first hunk. */
  readonly number: number;
  readonly texts: Texts;
  readonly context: number;
  /** The maximum number of rows. */
  readonly most: number;
}

/** The number of rows of neighbouring hunks and of the unchanged lines around them. */
function rowCount(near: readonly Hunk[], texts: Texts, context: number): number {
  const [first] = near;
  const last = near.at(-1);
  if (first === undefined || last === undefined) return 0;
  const start = Math.max(0, first.beforeStart - context);
  const end = Math.min(texts.before.length, last.beforeEnd + context);
  return near.reduce((sum, { afterStart, afterEnd }) => sum + afterEnd - afterStart, end - start);
}

function rowsOf(near: readonly Hunk[], { number, texts, context, most }: RowRequest): DiffRow[] {
  const rows: DiffRow[] = [];
  const [first] = near;
  if (first === undefined) return rows;
  let before = Math.max(0, first.beforeStart - context);
  let after = first.afterStart - (first.beforeStart - before);
  const keep = (end: number): void => {
    for (; before < end && rows.length < most; before += 1, after += 1)
      rows.push({ sign: ' ', before: before + 1, after: after + 1, text: shown(texts.before[before]) });
  };
  for (const [i, hunk] of near.entries()) {
    keep(hunk.beforeStart);
    rows.push(...changedRows(hunk, { number: number + i, texts, context, most: most - rows.length }));
    if (rows.length === most) return rows;
    before = hunk.beforeEnd;
    after = hunk.afterEnd;
  }
  keep(Math.min(texts.before.length, before + context));
  return rows;
}

function changedRows(hunk: Hunk, { number, texts, most }: RowRequest): DiffRow[] {
  const { beforeStart, beforeEnd, afterStart, afterEnd } = hunk;
  const olds = texts.before.slice(beforeStart, Math.min(beforeEnd, beforeStart + most)).map(shown);
  const news = texts.after.slice(afterStart, Math.min(afterEnd, afterStart + most)).map(shown);
  const marks = olds.map((old, i) => wordMarks(old, news[i]));
  const of = (i: number, side: 0 | 1): Pick<DiffRow, 'marks'> => {
    const found = marks[i]?.[side];
    return found === undefined ? {} : { marks: found };
  };
  const rows = [
    ...olds.map((text, i) => ({
      sign: '-' as const,
      before: beforeStart + i + 1,
      text,
      hunk: number,
      ...of(i, 0),
    })),
    ...news.map((text, i) => ({
      sign: '+' as const,
      after: afterStart + i + 1,
      text,
      hunk: number,
      ...of(i, 1),
    })),
  ];
  return rows.slice(0, most);
}

function shown(line: string | undefined): string {
  return withoutEnding(line ?? '').slice(0, MAX_ROW_CHARS);
}

type Mark = readonly [number, number];

/**
 * The positions of the words in which two lines differ. Undefined if most of a line differs, or if
 * a line is too long to compare.
 */
export function wordMarks(
  old: string,
  fresh: string | undefined,
): readonly [readonly Mark[], readonly Mark[]] | undefined {
  if (fresh === undefined || old.length > MAX_MARKED_CHARS || fresh.length > MAX_MARKED_CHARS)
    return undefined;
  const a = old.match(WORDS) ?? [];
  const b = fresh.match(WORDS) ?? [];
  const runs = equalRuns(a, b);
  if (runs === undefined) return undefined;
  const marks: [Mark[], Mark[]] = [[], []];
  const done = { a: 0, b: 0, aAt: 0, bAt: 0 };
  for (const run of [...runs, { before: a.length, after: b.length, length: 0 }]) {
    const aEnd = done.aAt + lengthOf(a, done.a, run.before);
    const bEnd = done.bAt + lengthOf(b, done.b, run.after);
    if (aEnd > done.aAt) marks[0].push([done.aAt, aEnd]);
    if (bEnd > done.bAt) marks[1].push([done.bAt, bEnd]);
    done.aAt = aEnd + lengthOf(a, run.before, run.before + run.length);
    done.bAt = bEnd + lengthOf(b, run.after, run.after + run.length);
    done.a = run.before + run.length;
    done.b = run.after + run.length;
  }
  const isMost = (each: readonly Mark[], line: string): boolean =>
    covered(each) > MAX_MARKED_PART * line.length;
  return isMost(marks[0], old) || isMost(marks[1], fresh) ? undefined : marks;
}

function lengthOf(words: readonly string[], from: number, to: number): number {
  let sum = 0;
  for (let i = from; i < to; i += 1) sum += words[i]?.length ?? 0;
  return sum;
}

function covered(marks: readonly Mark[]): number {
  return marks.reduce((sum, [start, end]) => sum + end - start, 0);
}

/**
 * The rows of a unified diff, from the preview or conflict of an undo. `show` masks secrets in a
 * line.
 */
export function unifiedRows(unified: string, show: (line: string) => string = (line) => line): DiffParts {
  const groups: DiffRow[][] = [];
  const count = { '-': 0, '+': 0, ' ': 0 };
  const at = { before: 0, after: 0 };
  for (const line of unified.split('\n')) {
    const [, before, after] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? [];
    if (before !== undefined) {
      at.before = Math.max(1, Number(before));
      at.after = Math.max(1, Number(after));
      groups.push([]);
    } else {
      const sign = line[0];
      if (sign !== ' ' && sign !== '-' && sign !== '+') continue;
      count[sign] += 1;
      const numbers = {
        ...(sign === '+' ? {} : { before: at.before++ }),
        ...(sign === '-' ? {} : { after: at.after++ }),
      };
      groups.at(-1)?.push({ sign, ...numbers, text: show(line.slice(1)) });
    }
  }
  return { added: count['+'], removed: count['-'], groups, cut: 0, hidden: 0 };
}
