import type { MatchTier } from '../model/results.ts';
import type { Span } from './lines.ts';

/**
 * Levels of tolerance (tiers) that compare characters, exactly or after normalising (folding) the
 * text. The folder `tiers/` implements the other levels.
 */
export type FoldTier = Extract<MatchTier, 'exact' | 'line-endings' | 'trailing-space' | 'punctuation'>;

/**
 * A text without the differences that a level of tolerance (tier) ignores, and a map from it back
 * to the source text. The map consists of entries. Entry `i` begins at `folded[i]` in `text` and at
 * `source[i]` in the source, and ends where the next entry begins.
 * - In most entries, the characters correspond one to one.
 * - An entry in `wide` is a single source character that became several, such as an ellipsis.
 */
export interface Folded {
  readonly text: string;
  readonly folded: readonly number[];
  readonly source: readonly number[];
  readonly wide: ReadonlySet<number>;
}

/** Typographic characters and their keyboard equivalents. Zero-width joiners carry meaning and are not replaced. */
const PUNCTUATION: Readonly<Record<string, string>> = {
  ...lookAlikes("'", '\u2018\u2019\u201a\u201b\u2032\u02bc'),
  ...lookAlikes('"', '\u201c\u201d\u201e\u201f\u2033'),
  ...lookAlikes('-', '\u2010\u2011\u2012\u2013\u2014\u2015\u2212'),
  ...lookAlikes(
    ' ',
    '\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000',
  ),
  '\u2026': '...',
};
const FOLDABLE = Object.keys(PUNCTUATION).join('');
const EVERY_FOLDABLE = new RegExp(`[${FOLDABLE}]`, 'g');
const TYPED_SPACES = Object.keys(PUNCTUATION).filter((character) => PUNCTUATION[character] === ' ');

/** Match what each level of tolerance drops, in the group `dropped`, or replaces. */
const FOLDED: Readonly<Record<FoldTier, RegExp | undefined>> = {
  exact: undefined,
  'line-endings': /(?<dropped>\r)(?=\n)/g,
  'trailing-space': droppedAtLineEnds(' \t'),
  punctuation: new RegExp(
    `${droppedAtLineEnds(` \t${TYPED_SPACES.join('')}`).source}|${EVERY_FOLDABLE.source}`,
    'g',
  ),
};

/** Matches white space at line ends. Only its first character can begin a match, so the search is linear. */
function droppedAtLineEnds(spaces: string): RegExp {
  return new RegExp(`(?<dropped>(?<![${spaces}])[${spaces}]+(?=\\r?\\n|$)|\\r(?=\\n))`, 'g');
}

/**
 * Replaces typographic characters by their keyboard equivalents. With `like`, replaces only the
 * kinds of characters that `like` contains, for example only double quotes.
 */
export function asTyped(text: string, like?: string): string {
  const kinds =
    like === undefined ? undefined : new Set([...like].map((character) => PUNCTUATION[character]));
  return text.replace(EVERY_FOLDABLE, (character) => {
    const typed = PUNCTUATION[character] ?? character;
    return kinds === undefined || kinds.has(typed) ? typed : character;
  });
}

/**
 * Folds (normalises) a text for a level of tolerance, in linear time. `exact` changes nothing. `line-endings` drops the `\r`
 * of `\r\n`. `trailing-space` also drops spaces and tabs at line ends. `punctuation` also replaces
 * typographic characters by typed ones.
 */
export function fold(text: string, tier: FoldTier): Folded {
  const pattern = FOLDED[tier];
  const pieces: string[] = [];
  const folded: number[] = [];
  const source: number[] = [];
  const wide = new Set<number>();
  let length = 0;
  const push = (piece: string, at: number): void => {
    if (piece === '') return;
    folded.push(length);
    source.push(at);
    pieces.push(piece);
    length += piece.length;
  };
  let done = 0;
  for (const { 0: found, index, groups } of pattern === undefined ? [] : text.matchAll(pattern)) {
    push(text.slice(done, index), done);
    const typed = groups?.['dropped'] === undefined ? (PUNCTUATION[found] ?? found) : '';
    if (typed.length > 1) wide.add(folded.length);
    push(typed, index);
    done = index + found.length;
  }
  push(text.slice(done), done);
  return { text: pieces.join(''), folded, source, wide };
}

/**
 * The source span of the folded characters `start` to `end`. Undefined if `start` or `end` is
 * inside the replacement of a single source character, such as the three dots of an ellipsis.
 */
export function sourceSpan(fold: Folded, start: number, end: number): Span | undefined {
  const first = entryAt(fold.folded, start);
  const last = entryAt(fold.folded, end - 1);
  const firstFolded = fold.folded[first] ?? 0;
  const lastFolded = fold.folded[last] ?? 0;
  if (fold.wide.has(first) && firstFolded !== start) return undefined;
  if (fold.wide.has(last) && end !== (fold.folded[last + 1] ?? fold.text.length)) return undefined;
  const lastSource = fold.source[last] ?? 0;
  return {
    start: (fold.source[first] ?? 0) + (start - firstFolded),
    end: fold.wide.has(last) ? lastSource + 1 : lastSource + (end - lastFolded),
  };
}

/**
 * The folded position of the source character at `offset`. If folding dropped it, the position of
 * the next character that remains.
 */
export function foldedOffset(fold: Folded, offset: number): number {
  const entry = entryAt(fold.source, offset);
  const next = fold.folded[entry + 1] ?? fold.text.length;
  // The offset lies before the first entry if folding dropped the first characters.
  const past = Math.max(0, offset - (fold.source[entry] ?? 0));
  if (fold.wide.has(entry)) return past === 0 ? (fold.folded[entry] ?? 0) : next;
  return Math.min((fold.folded[entry] ?? 0) + past, next);
}

/** Index of the last entry whose position is at or before `position`. */
function entryAt(positions: readonly number[], position: number): number {
  let low = 0;
  let high = positions.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((positions[middle] ?? 0) <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}

function lookAlikes(typed: string, characters: string): Record<string, string> {
  return Object.fromEntries([...characters].map((character) => [character, typed]));
}
