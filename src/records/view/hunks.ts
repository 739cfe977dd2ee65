import { diffLines, type Hunk } from '../../text/diff.ts';
import type { UnifiedDiff } from '../../text/unified.ts';
import { sizeOfHunks } from '../path-diffs.ts';
import type { DiffRow, FileDiff } from './view-data.ts';

/**
 * In longer lines, changed words are not marked, because comparing the words would take too long.
 */
const MAX_MARKED_CHARS = 500;
/** If more than this part of a line would be marked, no words of the line are marked. */
const MAX_MARKED_PART = 0.7;
const WORDS = /\p{L}[\p{L}\p{N}_]*|\p{N}+|\s+|./gu;

/** The rows of a diff and their numbers. */
type DiffParts = Pick<FileDiff, 'added' | 'removed' | 'groups' | 'cut' | 'note'>;

const HEAD = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;
const MISSING = /^… (\d+) more lines /;

/** The rows of a unified diff with masked secrets. */
export function unifiedRows(unified: string): DiffParts {
  const groups: DiffRow[][] = [];
  const at = { before: 0, after: 0 };
  const lines = unified.split('\n');
  for (const line of lines) {
    const [, before, after] = HEAD.exec(line) ?? [];
    if (before !== undefined) {
      Object.assign(at, { before: Math.max(1, Number(before)), after: Math.max(1, Number(after)) });
      groups.push([]);
    } else groups.at(-1)?.push(...rowOf(line, at));
  }
  const [missing] = lines.flatMap((line) => MISSING.exec(line)?.[1] ?? []);
  const notes = lines.filter((line) => /^[…(]/.test(line) && !MISSING.test(line));
  const count = (sign: DiffRow['sign']): number => groups.flat().filter((row) => row.sign === sign).length;
  return {
    ...{ added: count('+'), removed: count('-'), groups: groups.map(withMarks), cut: Number(missing ?? 0) },
    ...(notes.length === 0 ? {} : { note: notes.map((line) => line.replace(/^… |[()]/g, '')).join('; ') }),
  };
}

/** The row of a line; none for a remark. Counts the lines on both sides in `at`. */
function rowOf(line: string, at: { before: number; after: number }): DiffRow[] {
  const text = line.slice(1);
  if (line.startsWith(' ')) return [{ sign: ' ', before: at.before++, after: at.after++, text }];
  if (line.startsWith('-')) return [{ sign: '-', before: at.before++, text }];
  return line.startsWith('+') ? [{ sign: '+', after: at.after++, text }] : [];
}

/**
 * The rows of a diff, each changed one with the number of its hunk, by which an undo selects it.
 * The hunks are those of the unmasked text, so that a hunk that only changes masked values counts.
 */
export function numberedRows({ text, diff: { hunks } }: UnifiedDiff): DiffParts {
  let hunk = 0;
  const numbered = (row: DiffRow): DiffRow => {
    const { sign, before = 0, after = 0 } = row;
    const end = ({ beforeEnd, afterEnd }: Hunk): number =>
      sign === '-' ? beforeEnd - before : afterEnd - after;
    for (let each = hunks[hunk]; sign !== ' ' && each !== undefined && end(each) < 0; each = hunks[hunk])
      hunk += 1;
    const { beforeStart = 0, afterStart = 0 } = hunks[hunk] ?? {};
    const isIn = sign === '-' ? before > beforeStart : sign === '+' && after > afterStart;
    return isIn ? { ...row, hunk } : row;
  };
  const parts = unifiedRows(text);
  return { ...parts, ...sizeOfHunks(hunks), groups: parts.groups.map((rows) => rows.map(numbered)) };
}

type Mark = readonly [start: number, end: number];

/** Marks the changed words of removed lines and of the added lines that replace them. */
function withMarks(rows: readonly DiffRow[]): readonly DiffRow[] {
  const marked = [...rows];
  const runFrom = (start: number, sign: DiffRow['sign']): number => {
    let end = start;
    while (rows[end]?.sign === sign) end += 1;
    return end - start;
  };
  for (let at = 0; at < rows.length; at += 1) {
    const [olds, start] = [runFrom(at, '-'), at];
    at += olds + runFrom(at + olds, '+');
    for (let old = start; old < start + Math.min(olds, at - start - olds); old += 1) {
      const sides = [old, old + olds] as const;
      const [was, is] = sides.map((side) => rows[side]?.text ?? '');
      const marks = wordMarks(was ?? '', is ?? '');
      for (const [i, side] of sides.entries()) {
        const row = rows[side];
        if (row !== undefined && marks !== undefined) marked[side] = { ...row, marks: marks[i] ?? [] };
      }
    }
  }
  return marked;
}

/**
 * The positions of the words in which two lines differ. Undefined if most of a line differs, or if
 * a line is too long to compare.
 */
export function wordMarks(
  old: string,
  fresh: string,
): readonly [readonly Mark[], readonly Mark[]] | undefined {
  const lines = [old, fresh];
  if (lines.some(({ length }) => length > MAX_MARKED_CHARS)) return undefined;
  const words = lines.map((line) => line.match(WORDS) ?? []);
  const [a = '', b = ''] = words.map((each) => each.map((word) => `${word}\n`).join(''));
  const { hunks, rough } = diffLines(a, b);
  const marks = (side: 0 | 1, rangeOf: (hunk: Hunk) => Mark): readonly Mark[] => {
    const offset = (count: number): number => words[side]?.slice(0, count).join('').length ?? 0;
    return hunks
      .map(rangeOf)
      .flatMap(([from, to]) => (from === to ? [] : [[offset(from), offset(to)] as const]));
  };
  const found = [
    marks(0, ({ beforeStart, beforeEnd }) => [beforeStart, beforeEnd]),
    marks(1, ({ afterStart, afterEnd }) => [afterStart, afterEnd]),
  ] as const;
  const isMost = (each: readonly Mark[], line: string): boolean =>
    each.reduce((sum, [start, end]) => sum + end - start, 0) > MAX_MARKED_PART * line.length;
  return rough || found.some((each, side) => isMost(each, lines[side] ?? '')) ? undefined : found;
}
