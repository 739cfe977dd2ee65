import type { MatchTier } from '../model/results.ts';
import type { Span } from './lines.ts';

/**
 * A level of tolerance (tier) for finding an anchor, the text to replace. These tiers ignore
 * differences between single characters.
 */
export type TolerantTier = Extract<MatchTier, 'line-endings' | 'trailing-space' | 'punctuation'>;

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
const FOLDABLE = `[${Object.keys(PUNCTUATION).join('')}]`;
const EVERY_FOLDABLE = new RegExp(FOLDABLE, 'g');

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
 * Folds (normalises) a text for a level of tolerance, in linear time. `line-endings` drops the `\r`
 * of `\r\n`. `trailing-space` also drops spaces and tabs at line ends. `punctuation` also replaces
 * typographic characters by typed ones.
 */
export function fold(text: string, tier: TolerantTier): Folded {
  const folding = new FoldBuilder(text, tier === 'punctuation' ? new RegExp(FOLDABLE, 'g') : undefined);
  let start = 0;
  for (let newline = text.indexOf('\n'); newline !== -1; newline = text.indexOf('\n', start)) {
    folding.keep(start, contentEnd(text, { start, end: newline }, tier));
    folding.keep(newline, newline + 1);
    start = newline + 1;
  }
  folding.keep(start, contentEnd(text, { start, end: text.length }, tier));
  return folding.result();
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

/**
 * Builds a folded text. The caller calls `keep`, in ascending order, for each piece of the source
 * that folding does not drop. The builder merges adjacent pieces.
 */
class FoldBuilder {
  readonly #text: string;
  readonly #pattern: RegExp | undefined;
  readonly #pieces: string[] = [];
  readonly #folded: number[] = [];
  readonly #source: number[] = [];
  readonly #wide = new Set<number>();
  #length = 0;
  #start = 0;
  #end = 0;
  /**
   * Position of the next character to replace. It is stored, because otherwise each line before
   * that position would search for it again.
   */
  #hit = -1;

  constructor(text: string, pattern: RegExp | undefined) {
    this.#text = text;
    this.#pattern = pattern;
  }

  keep(start: number, end: number): void {
    let done = start;
    for (let hit = this.#hitFrom(done); hit < end; hit = this.#hitFrom(done)) {
      this.#copy(done, hit);
      this.#replace(hit);
      done = hit + 1;
    }
    this.#copy(done, end);
  }

  result(): Folded {
    this.#flush();
    return { text: this.#pieces.join(''), folded: this.#folded, source: this.#source, wide: this.#wide };
  }

  #hitFrom(at: number): number {
    if (this.#pattern === undefined) return this.#text.length;
    if (this.#hit >= at) return this.#hit;
    this.#pattern.lastIndex = at;
    this.#hit = this.#pattern.exec(this.#text)?.index ?? this.#text.length;
    return this.#hit;
  }

  #copy(start: number, end: number): void {
    if (start >= end) return;
    if (start !== this.#end) {
      this.#flush();
      this.#start = start;
    }
    this.#end = end;
  }

  #replace(at: number): void {
    this.#flush();
    const character = this.#text.charAt(at);
    const typed = PUNCTUATION[character] ?? character;
    if (typed.length > 1) this.#wide.add(this.#folded.length);
    this.#push(typed, at);
    this.#start = at + 1;
    this.#end = at + 1;
  }

  #flush(): void {
    if (this.#start < this.#end) this.#push(this.#text.slice(this.#start, this.#end), this.#start);
    this.#start = this.#end;
  }

  #push(piece: string, source: number): void {
    this.#folded.push(this.#length);
    this.#source.push(source);
    this.#pieces.push(piece);
    this.#length += piece.length;
  }
}

/**
 * The end of a line without the `\r` and the trailing white space that the level of tolerance
 * (tier) ignores. `line.end` is the position of its newline, or the end of the text.
 */
function contentEnd(text: string, line: Span, tier: TolerantTier): number {
  let end = line.end;
  if (end > line.start && text[end] === '\n' && text[end - 1] === '\r') end -= 1;
  if (tier === 'line-endings') return end;
  while (end > line.start && isSpace(text.charAt(end - 1), tier)) end -= 1;
  return end;
}

function isSpace(character: string, tier: TolerantTier): boolean {
  if (character === ' ' || character === '\t') return true;
  return tier === 'punctuation' && PUNCTUATION[character] === ' ';
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
