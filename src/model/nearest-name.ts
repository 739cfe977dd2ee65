/** Words up to this length may contain only one mistake. */
const SHORT = 4;

/** The known name most similar to `word`, or undefined if none is similar enough. */
export function nearestName(word: string, known: readonly string[]): string | undefined {
  // A word this long is similar to no known name. The limit also bounds the work.
  if (word.length > 64) return undefined;
  let best: string | undefined;
  let least = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const name of known) {
    const steps = stepsBetween(word.toLowerCase(), name.toLowerCase());
    if (steps < least) {
      least = steps;
      best = name;
    }
  }
  return best;
}

/**
 * The number of mistakes between a word and a name. A forgotten ending (`quota` for `quotaBytes`)
 * counts as one, however long it is. One word too many or too few (`file_path` for `path`) counts
 * as at most two.
 */
function stepsBetween(word: string, name: string): number {
  if (word.length > 2 && name.startsWith(word)) return 1;
  const steps = distance(word, name);
  if (isPartOf(name, word) || isPartOf(word, name)) return Math.min(2, steps);
  // A short word may have only one mistake: two changed letters turn it into almost any other.
  return word.length <= SHORT && steps > 1 ? Number.POSITIVE_INFINITY : steps;
}

function isPartOf(part: string, word: string): boolean {
  return part.length > 2 && word.split(/[_-]/).includes(part);
}

/**
 * The number of insertions, deletions, substitutions and swaps of neighbouring letters that turn one word into the
 * other.
 */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swap = isSwap ? (before[j - 2] ?? 0) + 1 : change;
      next.push(Math.min(change, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[to.length] ?? 0;
}
