import { asTyped } from './fold.ts';
import { clampLine, linesOfSpan, splitLines, toLf, withoutEnding } from './lines.ts';
import { indexOfLinear } from './match.ts';

const MAX_LINES = 12;
const MAX_CHARS = 1024;
/**
 * Anchors (texts to replace) are compared only up to this length, and each line only up to
 * MAX_COMPARED_CHARS. The limits bound the work, and messages do not show more either.
 */
const MAX_ANCHOR_CHARS = 4096;
const MAX_COMPARED_CHARS = 400;
/**
 * Only this many lines of the anchor (the text to replace) are searched for in the file: the
 * longest ones. Compares only the best MAX_CANDIDATES of the similar lines found there in detail.
 */
const MAX_PROBES = 3;
const MAX_CANDIDATES = 40;
/** Maximum places to show if several are equally similar. */
const MAX_SHOWN = 3;
/**
 * A line of the file is similar if it contains at least this share of the trigrams of a line to
 * replace.
 */
const MIN_LIKENESS = 0.4;

/** The text of a file that is most similar to an anchor (the text to replace) that was not found. */
export interface Nearest {
  /** Text for messages: `N: text` with visible white space. */
  readonly shown: string;
  /**
   * The difference in a few words, or the note that several places are equally similar. Absent if
   * the text shown is not similar enough to be suggested.
   */
  readonly difference?: string;
  /** The exact text to search for instead; the file contains it once. */
  readonly anchor?: string;
}

/**
 * Minimum average similarity of the lines, from 0 to 1. Below it, the lines of the file are not
 * suggested as a better text to search for.
 */
const MIN_SUGGESTED = 0.6;
const MAX_SUGGESTED_CHARS = 2000;

const MAX_LINE_CHARS = 160;
/** Characters that look like a space or are invisible. */
const INVISIBLE = /[\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ufeff]/g;

/**
 * Finds the lines that are most similar to an anchor (a text to replace) that was not found.
 * Returns at most 12 lines and 1 KB of them. If they are similar enough, also returns the
 * difference and a better anchor. Undefined if nothing is similar.
 */
export function nearest(given: string, anchor: string): Nearest | undefined {
  const text = toLf(given);
  const lines = splitLines(text);
  const lookAlike = findLookAlike(text, lines, toLf(anchor));
  if (lookAlike !== undefined) return lookAlike;
  const found = findNearest(lines, anchor);
  if (found === undefined) return undefined;
  const { windows, wanted, likeness } = found;
  const [window, ...others] = windows;
  const shown = render(windows);
  if (others.length > 0) return { shown, difference: 'several places are equally similar' };
  const complete = splitLines(anchor).length === wanted.length && anchor.length <= MAX_ANCHOR_CHARS;
  const like = complete && window.lines.length === wanted.length && likeness >= MIN_SUGGESTED * wanted.length;
  if (!like) return { shown };
  // The lines of the window may be cut, so take the text from the file. Keep its final newline only
  // if the anchor ends with one, because the new text of the edit was written for that anchor.
  const whole = lines.slice(window.first - 1, window.first - 1 + wanted.length).join('');
  const suggested = anchor.endsWith('\n') ? whole : whole.replace(/\n$/, '');
  if (suggested.length > MAX_SUGGESTED_CHARS || !isOnce(text, suggested)) return { shown };
  const theirs = splitLines(suggested).map(withoutEnding);
  return { shown, difference: differenceOf(wanted, theirs, window.first), anchor: suggested };
}

/** Forms of an anchor that look like it on a screen, each with the reason why the anchor itself was not found. */
function lookAlikesOf(anchor: string): { readonly anchor: string; readonly difference: string }[] {
  const accents = 'only the encoding of accented letters differs: the file has them';
  return [
    {
      anchor: anchor.replace(/^\ufeff/, ''),
      difference:
        "the text to replace begins with a byte order mark (U+FEFF), which is not part of the file's text",
    },
    { anchor: anchor.normalize('NFC'), difference: `${accents} composed (NFC)` },
    { anchor: anchor.normalize('NFD'), difference: `${accents} decomposed (NFD)` },
  ];
}

function findLookAlike(text: string, lines: readonly string[], anchor: string): Nearest | undefined {
  if (isAscii(anchor)) return undefined;
  const found = lookAlikesOf(anchor).find(
    (other) => other.anchor !== '' && other.anchor !== anchor && indexOfLinear(text, other.anchor) !== -1,
  );
  if (found === undefined) return undefined;
  const at = indexOfLinear(text, found.anchor);
  const { from, to } = linesOfSpan(text, { start: at, end: at + found.anchor.length });
  const shown = render([windowOf(lines, from, Math.min(MAX_LINES, to - from + 1))]);
  const { difference } = found;
  const suggests = found.anchor.length <= MAX_SUGGESTED_CHARS && isOnce(text, found.anchor);
  return { shown, difference, ...(suggests ? { anchor: found.anchor } : {}) };
}

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

function isOnce(text: string, part: string): boolean {
  const at = text.indexOf(part);
  return part !== '' && at !== -1 && text.indexOf(part, at + 1) === -1;
}

function differenceOf(wanted: readonly string[], lines: readonly string[], first: number): string {
  const bare = (line: string): string => line.replace(/\s+/g, '');
  const differing = wanted.flatMap((line, index) => (line === lines[index] ? [] : [index]));
  if (differing.every((index) => bare(wanted[index] ?? '') === bare(lines[index] ?? '')))
    return 'only white space differs';
  if (differing.every((index) => bare(asTyped(wanted[index] ?? '')) === bare(asTyped(lines[index] ?? ''))))
    return 'only white space and the style of quotes differ';
  const numbers = differing.map((index) => first + index);
  return `${numbers.length === 1 ? 'line' : 'lines'} ${numbers.join(', ')} of the file ${numbers.length === 1 ? 'differs' : 'differ'}`;
}

interface FoundNearest {
  /** The stretch of lines most similar to the text to replace, and others that are equally similar. */
  readonly windows: readonly [Window, ...Window[]];
  readonly wanted: readonly string[];
  /** The similarity to the text to replace: a sum over its lines, each from 0 to 1. */
  readonly likeness: number;
}

function findNearest(lines: readonly string[], anchor: string): FoundNearest | undefined {
  const wanted = splitLines(anchor.slice(0, MAX_ANCHOR_CHARS)).slice(0, MAX_LINES).map(withoutEnding);
  const probes = probesOf(wanted);
  if (probes.length === 0) return undefined;
  let best: Omit<FoundNearest, 'wanted'> | undefined;
  let bestEdges = 0;
  const seen = new Set<number>();
  for (const { line, index } of candidatesIn(lines, probes)) {
    // The similar line has the same position among the shown ones as the line that it resembles.
    const window = windowOf(lines, Math.max(1, line - index), wanted.length);
    if (seen.has(window.first)) continue;
    seen.add(window.first);
    const likeness = likenessOf(window.lines, wanted);
    const edges = edgesOf(window.lines, wanted);
    const order = likeness - (best?.likeness ?? -1) || edges - bestEdges;
    if (best !== undefined && order < 0) continue;
    const windows: FoundNearest['windows'] =
      best === undefined || order > 0 ? [window] : [...best.windows, window];
    best = { windows, likeness };
    bestEdges = edges;
  }
  return best && { ...best, wanted };
}

/**
 * A score for how many characters at the beginnings and ends of lines equal those of the lines to
 * replace. It decides between places with equally many common trigrams. Unlike trigrams, it depends
 * on white space and order.
 */
function edgesOf(lines: readonly string[], wanted: readonly string[]): number {
  let edges = 0;
  for (const [index, line] of wanted.entries()) {
    const other = lines[index] ?? '';
    const length = Math.min(line.length, other.length);
    let start = 0;
    while (start < length && line[start] === other[start]) start += 1;
    let end = 0;
    while (end < length - start && line.at(-1 - end) === other.at(-1 - end)) end += 1;
    edges += start + end - Math.max(line.length, other.length);
  }
  return edges;
}

/** A line of the text to replace, and the hashes of its trigrams. */
interface Probe {
  readonly index: number;
  readonly pieces: ReadonlySet<number>;
}

interface Candidate {
  readonly score: number;
  readonly line: number;
  /** Index, in the text to replace, of the line that this line resembles. */
  readonly index: number;
}

/** Neighbouring lines of the file. */
interface Window {
  readonly first: number;
  /** The lines without endings. Long ones are cut. */
  readonly lines: readonly string[];
}

function probesOf(wanted: readonly string[]): Probe[] {
  return wanted
    .map((line, index) => ({ index, pieces: piecesOf(line) }))
    .filter(({ pieces }) => pieces.size > 0)
    .sort((a, b) => b.pieces.size - a.pieces.size)
    .slice(0, MAX_PROBES);
}

function candidatesIn(lines: readonly string[], probes: readonly Probe[]): Candidate[] {
  const best: Candidate[] = [];
  // For each trigram, a bit for each probe that contains it, and the last line in which it was counted.
  const owners = new Uint8Array(65536);
  const counted = new Int32Array(65536);
  for (const [which, { pieces }] of probes.entries())
    for (const hash of pieces) owners[hash] = (owners[hash] ?? 0) | (1 << which);
  const found = new Int32Array(probes.length);
  let line = 1;
  let total = 0;
  const count = (hash: number): void => {
    total += 1;
    const bits = owners[hash] ?? 0;
    if (bits === 0 || counted[hash] === line) return;
    counted[hash] = line;
    for (let which = 0; which < found.length; which += 1)
      found[which] = (found[which] ?? 0) + ((bits >> which) & 1);
  };
  for (const text of lines) {
    found.fill(0);
    total = 0;
    eachPiece(text, count);
    for (const [which, { index, pieces }] of probes.entries()) {
      const share = (found[which] ?? 0) / pieces.size;
      // If two lines share equally many trigrams with the line to replace, the one whose length is
      // closer wins. White space does not count.
      const score = share - Math.abs(total - pieces.size) / 1e7;
      if (share >= MIN_LIKENESS) offer(best, { score, line, index });
    }
    line += 1;
  }
  return best;
}

function offer(best: Candidate[], candidate: Candidate): void {
  if (best.length === MAX_CANDIDATES && (best.at(-1)?.score ?? 0) >= candidate.score) return;
  const at = best.findIndex((other) => other.score < candidate.score);
  best.splice(at === -1 ? best.length : at, 0, candidate);
  best.length = Math.min(best.length, MAX_CANDIDATES);
}

function windowOf(lines: readonly string[], first: number, count: number): Window {
  const shown = lines.slice(first - 1, first - 1 + count);
  return { first, lines: shown.map((line) => withoutEnding(line).slice(0, MAX_COMPARED_CHARS)) };
}

function likenessOf(lines: readonly string[], wanted: readonly string[]): number {
  const shares = wanted.map((line, index) => {
    const mine = piecesOf(line);
    const theirs = piecesOf(lines[index] ?? '');
    if (mine.size === 0) return theirs.size === 0 ? 1 : 0;
    return [...mine].filter((hash) => theirs.has(hash)).length / Math.max(mine.size, theirs.size);
  });
  return shares.reduce((sum, share) => sum + share, 0);
}

function render(windows: readonly Window[]): string {
  const inOrder = windows.slice(0, MAX_SHOWN).sort((a, b) => a.first - b.first);
  const rows = inOrder.flatMap(({ first, lines }, place) => [
    ...(follows(inOrder[place - 1], first) ? [] : ['…']),
    ...lines.map((line, index) => `${first + index}: ${visibleLine(line)}`),
  ]);
  const fitting = rows
    .slice(0, MAX_LINES)
    .filter((_row, index) => rows.slice(0, index + 1).join('\n').length <= MAX_CHARS);
  return fitting.join('\n');
}

function follows(above: Window | undefined, line: number): boolean {
  return above === undefined || above.first + above.lines.length >= line;
}

function piecesOf(line: string): Set<number> {
  const pieces = new Set<number>();
  eachPiece(line, (hash) => pieces.add(hash));
  return pieces;
}

/** Calls `visit` with a 16-bit hash of every three consecutive characters of a line, ignoring white space. */
function eachPiece(text: string, visit: (hash: number) => void): void {
  let first = 0;
  let second = 0;
  for (let at = 0; at < Math.min(text.length, MAX_COMPARED_CHARS); at += 1) {
    const third = text.charCodeAt(at);
    if (third <= 32) continue;
    if (first !== 0) visit((first * 961 + second * 31 + third) & 0xffff);
    first = second;
    second = third;
  }
}

/**
 * A bounded line with visible white space: `→` for a tab, `·` for a leading or trailing space, `<U+00A0>` for other
 * invisible characters.
 */
export function visibleLine(line: string): string {
  return clampLine(line, MAX_LINE_CHARS)
    .text.replaceAll('\t', '→')
    .replace(/^[ →]+|[ →]+$/g, (edge) => edge.replaceAll(' ', '·'))
    .replaceAll(INVISIBLE, (character) => `<U+${hex(character)}>`);
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
}
