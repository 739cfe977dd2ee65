import type { MatchTier } from '../../model/results.ts';
import { asTyped } from '../fold.ts';
import type { LineEnding, Span } from '../lines.ts';

/** A line of the file. `text` and the span do not include its ending. */
export interface FileLine extends Span {
  readonly text: string;
  readonly ending: LineEnding;
}

/** The lines of an anchor (an edit's old text) aligned with the file's lines. */
export interface Paired {
  readonly anchor: readonly string[];
  readonly file: readonly FileLine[];
  /** For each line of the old text, the index of the file's line; undefined for a blank line that the file lacks. */
  readonly at: readonly (number | undefined)[];
  /** Number of blank lines, between other lines, that only the old text or only the file has. */
  readonly blankDifference: number;
  /** Number of blank lines at the beginning and end of the old text that the file lacks. */
  readonly edgeBlanks: number;
}

/**
 * Maximum lines of the file that are compared with the old text. Beyond it, the search finds
 * nothing, because a place that was not compared may match as well.
 */
const MAX_COMPARED = 200_000;
const MAX_PLACES = 11;
/** Maximum blank lines between two lines that the old text does not have there. */
const MAX_BLANKS = 3;

/**
 * Finds the places whose lines equal those of the anchor (an edit's old text), ignoring white
 * space, blank lines and quote styles together. No other search ignores as much, so an edit may use
 * a place only if this search finds no other.
 */
export function pairsLike(text: string, anchor: readonly string[]): readonly Paired[] {
  const probe = probeOf(anchor);
  if (probe === undefined) return [];
  const found: Paired[] = [];
  const work = { compared: 0 };
  for (let at = text.indexOf(probe.word); at !== -1 && found.length < MAX_PLACES; ) {
    const line = lineAround(text, at);
    if (bare(line.text) === probe.line) {
      const first = climb(text, line, probe.above);
      const paired = first && pairFrom(text, anchor, { first, work });
      if (paired !== undefined) found.push(paired);
    }
    work.compared += 1;
    if (work.compared > MAX_COMPARED) return [];
    at = text.indexOf(probe.word, Math.max(line.end, at + 1));
  }
  return found;
}

/** Aligns the anchor (an edit's old text) with the lines from the start of a span on, if they are alike. */
export function pairsAt(text: string, anchor: readonly string[], span: Span): readonly Paired[] {
  let first: FileLine | undefined = lineAround(text, span.start);
  while (first !== undefined && isBlank(first.text)) first = lineAfter(text, first);
  return [(first && pairFrom(text, anchor, { first, work: { compared: 0 } })) ?? []].flat();
}

/**
 * The anchor's longest word, which `indexOf` can search for quickly, its line, and the number of
 * non-blank lines above it. Undefined if the anchor has no word.
 */
function probeOf(
  anchor: readonly string[],
): { readonly word: string; readonly line: string; readonly above: number } | undefined {
  let best: { word: string; line: string; above: number } | undefined;
  for (const [above, line] of anchor.filter((each) => !isBlank(each)).entries()) {
    for (const word of line.match(/[\p{L}\p{N}_]+/gu) ?? [])
      if (word.length > (best?.word.length ?? 0)) best = { word, line: bare(line), above };
  }
  return best;
}

/** The line that has `count` non-blank lines between itself and this one, this one included. */
function climb(text: string, from: FileLine, count: number): FileLine | undefined {
  let line: FileLine | undefined = from;
  let blanks = 0;
  for (let left = count; left > 0 && line !== undefined && blanks <= MAX_BLANKS * count; ) {
    line = lineBefore(text, line);
    if (line !== undefined && isBlank(line.text)) blanks += 1;
    else left -= 1;
  }
  return line;
}

/**
 * Aligns the anchor (an edit's old text) with the lines of the file from its first non-blank line
 * on. Undefined if a non-blank line differs in more than white space and quotes.
 */
function pairFrom(
  text: string,
  anchor: readonly string[],
  { first, work }: { readonly first: FileLine; readonly work: { compared: number } },
): Paired | undefined {
  const [from, to] = [anchor.findIndex(isFilled), anchor.findLastIndex(isFilled)];
  const file = blanksAbove(text, first, from);
  const lead = file.length;
  const at = anchor.map((_, i) => (i < from && i >= from - lead ? i - from + lead : undefined));
  let blankDifference = 0;
  let next: FileLine | undefined = first;
  const take = (line: FileLine): number => {
    next = lineAfter(text, line);
    work.compared += 1;
    return file.push(line) - 1;
  };
  for (let i = from; i < anchor.length; i += 1) {
    const wanted = anchor[i] ?? '';
    const most = isFilled(wanted) ? MAX_BLANKS : 0;
    for (let skipped = 0; isBlankLine(next) && skipped < most; skipped += 1) {
      take(next);
      blankDifference += 1;
    }
    const isAlike = bare(next?.text ?? '') === bare(wanted);
    if (isAlike && next !== undefined) at[i] = take(next);
    else if (isFilled(wanted)) return undefined;
    else if (i < to) blankDifference += 1;
  }
  const edges = at.filter((index, i) => index === undefined && (i < from || i > to));
  return { anchor, file, at, blankDifference, edgeBlanks: edges.length };
}

/** The blank lines directly above a line, at most `most`. */
function blanksAbove(text: string, line: FileLine, most: number): FileLine[] {
  const lines: FileLine[] = [];
  for (let above = lineBefore(text, line); isBlankLine(above) && lines.length < most; ) {
    lines.push(above);
    above = lineBefore(text, above);
  }
  return lines.reverse();
}

function isBlank(line: string): boolean {
  return line.trim() === '';
}

function isFilled(line: string): boolean {
  return line.trim() !== '';
}

function isBlankLine(line: FileLine | undefined): line is FileLine {
  return line !== undefined && isBlank(line.text);
}

/** A line without white space and with plain quotes. */
function bare(line: string): string {
  return asTyped(line).replace(/\s+/g, '');
}

function lineAround(text: string, at: number): FileLine {
  const start = at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
  const newline = text.indexOf('\n', at);
  const stop = newline === -1 ? text.length : newline;
  const returns = newline !== -1 && stop > start && text[stop - 1] === '\r';
  const end = returns ? stop - 1 : stop;
  return { start, end, text: text.slice(start, end), ending: newline === -1 ? '' : returns ? '\r\n' : '\n' };
}

function lineBefore(text: string, line: FileLine | undefined): FileLine | undefined {
  return line === undefined || line.start === 0 ? undefined : lineAround(text, line.start - 1);
}

function lineAfter(text: string, line: FileLine | undefined): FileLine | undefined {
  if (line === undefined) return undefined;
  const newline = text.indexOf('\n', line.end);
  return newline === -1 || newline + 1 >= text.length ? undefined : lineAround(text, newline + 1);
}

/** The old and the new text of an edit. */
export interface Texts {
  readonly oldString: string;
  readonly newString: string;
}

/**
 * The only place where an edit fits, although not exactly, and the new text adapted to that place.
 */
export interface PlacedEdit {
  readonly tier: MatchTier;
  readonly span: Span;
  readonly replacement: string;
}

/** Several places that fit an edit equally well, so that none can be chosen. */
export interface Rivals {
  readonly spans: readonly Span[];
}
