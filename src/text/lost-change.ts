import { diffLines, type Hunk } from './diff.ts';
import { splitLines } from './lines.ts';

/**
 * Detects a lost update. A session saw `base`, another writer changed it to `live`, and then the
 * session's program wrote `after`. True if a change of the other writer is missing from `after`.
 * White space does not count, and a change that was moved or reworded is not lost.
 */
export function losesChange(base: string, live: string, after: string): boolean {
  if (base === live || live === after) return false;
  const texts = { base: splitLines(base), live: splitLines(live), after: splitLines(after) };
  const counts = { live: countLines(texts.live), after: countLines(texts.after) };
  const later = diffLines(live, after).hunks;
  return diffLines(base, live).hunks.some((change) => {
    const touching = later.filter((hunk) => touches(change, hunk));
    return touching.length > 0 && isLost(texts, counts, { change, touching });
  });
}

interface Texts<T> {
  readonly live: T;
  readonly after: T;
}

/**
 * `change` led to the live text, and `later` changed that text again. True if both concern the same
 * lines of the live text. If `change` only removed lines, it has only a position in the live text,
 * and `later` must contain or touch that position.
 */
function touches(change: Hunk, later: Hunk): boolean {
  if (change.afterStart === change.afterEnd)
    return later.beforeStart <= change.afterStart && change.afterStart <= later.beforeEnd;
  return later.beforeStart < change.afterEnd && change.afterStart < later.beforeEnd;
}

function isLost(
  texts: Texts<readonly string[]> & { readonly base: readonly string[] },
  counts: Texts<ReadonlyMap<string, number>>,
  { change, touching }: { readonly change: Hunk; readonly touching: readonly Hunk[] },
): boolean {
  const removed = texts.base.slice(change.beforeStart, change.beforeEnd);
  const added = texts.live.slice(change.afterStart, change.afterEnd);
  const result = touching.flatMap((hunk) => texts.after.slice(hunk.afterStart, hunk.afterEnd));
  const untouched = added.filter((_line, index) => {
    const line = change.afterStart + index;
    return !touching.some(({ beforeStart, beforeEnd }) => beforeStart <= line && line < beforeEnd);
  });
  const there = [...untouched, ...result];
  return isBack(removed, { added, result }) || isGone(added, { removed, there, counts });
}

/** True if a line that the other writer removed is back at the place of the change. */
function isBack(
  removed: readonly string[],
  { added, result }: { readonly added: readonly string[]; readonly result: readonly string[] },
): boolean {
  const [stayed, now] = [new Set(added.map(bare)), new Set(result.map(bare))];
  return removed.map(bare).some((line) => hasWords(line) && !stayed.has(line) && now.has(line));
}

/**
 * True if the other writer's addition is missing: one of the added lines is not in the result, and
 * most of the words that are new in these lines are not at the place of the change.
 */
function isGone(
  added: readonly string[],
  more: {
    readonly removed: readonly string[];
    /** The lines of the result at the place of the change. */
    readonly there: readonly string[];
    readonly counts: Texts<ReadonlyMap<string, number>>;
  },
): boolean {
  const { live, after } = more.counts;
  const missing = added.map(bare).filter((line) => (after.get(line) ?? 0) < (live.get(line) ?? 0));
  if (!missing.some(hasWords)) return false;
  const known = new Set(more.removed.flatMap(wordsOf));
  const words = [...new Set(added.flatMap(wordsOf))].filter((word) => !known.has(word));
  const now = new Set(more.there.flatMap(wordsOf));
  const kept = words.filter((word) => now.has(word)).length;
  return words.length > 0 && kept * 2 < words.length;
}

function countLines(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines.map(bare)) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

function bare(line: string): string {
  return line.replace(/\s+/g, '');
}

function hasWords(line: string): boolean {
  return /[\p{L}\p{N}]/u.test(line);
}

function wordsOf(line: string): readonly string[] {
  return line.match(/[\p{L}\p{N}_]+/gu) ?? [];
}
