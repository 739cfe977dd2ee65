import type { MatchTier } from '../../model/results.ts';
import { asTyped } from '../fold.ts';
import type { LineEnding, Span } from '../lines.ts';

/** A line of the file. `text` and the span do not include its ending. */
export interface FileLine extends Span {
  readonly text: string;
  readonly ending: LineEnding;
}

/** Lines of the file that are similar to an edit's old text, from the first to the last non-blank line. */
export interface Block {
  readonly lines: readonly FileLine[];
}

/**
 * Maximum lines of the file that are compared with the old text. Beyond it, the search finds
 * nothing, because a place that was not compared may match as well.
 */
const MAX_COMPARED = 200_000;
const MAX_BLOCKS = 11;
/** Maximum blank lines between two lines of a block. */
const MAX_BLANKS = 3;

/**
 * Finds the places whose lines equal those of the anchor (an edit's old text), ignoring white
 * space, blank lines and quote styles together. No other search ignores as much, so an edit may use
 * a place only if this search finds no other.
 */
export function blocksLike(text: string, anchor: readonly string[]): readonly Block[] {
  const wanted = anchor.filter((line) => line.trim() !== '').map(bare);
  const probe = probeOf(anchor);
  if (probe === undefined) return [];
  const blocks: Block[] = [];
  let compared = 0;
  for (let at = text.indexOf(probe.word); at !== -1 && blocks.length < MAX_BLOCKS; ) {
    const line = lineAround(text, at);
    const lines = [line];
    if (bare(line.text) === wanted[probe.index] && grow(text, lines, { wanted, index: probe.index }))
      blocks.push({ lines });
    compared += lines.length;
    if (compared > MAX_COMPARED) return [];
    at = text.indexOf(probe.word, Math.max(line.end, at + 1));
  }
  return blocks;
}

/** The lines at a span, without blank lines at its ends. */
export function blockAt(text: string, span: Span): Block {
  const lines: FileLine[] = [];
  for (
    let at: FileLine | undefined = lineAround(text, span.start);
    at !== undefined && at.start < span.end;
  ) {
    lines.push(at);
    at = lineAfter(text, at);
  }
  const isFilled = ({ text: line }: FileLine): boolean => line.trim() !== '';
  return { lines: lines.slice(lines.findIndex(isFilled), lines.findLastIndex(isFilled) + 1) };
}

/**
 * The anchor's longest word, which `indexOf` can search for quickly, and the index of its line
 * among the non-blank lines. Undefined if the anchor has no word.
 */
function probeOf(anchor: readonly string[]): { readonly word: string; readonly index: number } | undefined {
  let best: { word: string; index: number } | undefined;
  for (const [index, line] of anchor.filter((each) => each.trim() !== '').entries()) {
    for (const word of line.match(/[\p{L}\p{N}_]+/gu) ?? [])
      if (word.length > (best?.word.length ?? 0)) best = { word, index };
  }
  return best;
}

/** Extends a block of one line by the lines above and below it. False if they are not the wanted lines. */
function grow(
  text: string,
  lines: FileLine[],
  { wanted, index }: { readonly wanted: readonly string[]; readonly index: number },
): boolean {
  for (let i = index - 1; i >= 0; i -= 1)
    if (!extend(text, lines, { want: wanted[i], up: true })) return false;
  for (let i = index + 1; i < wanted.length; i += 1)
    if (!extend(text, lines, { want: wanted[i], up: false })) return false;
  return true;
}

/**
 * Extends the block, up or down, to the next non-blank line. False if that line is not the wanted
 * one, if there is none, or if more than `MAX_BLANKS` blank lines precede it.
 */
function extend(
  text: string,
  lines: FileLine[],
  { want, up }: { readonly want: string | undefined; readonly up: boolean },
): boolean {
  for (let blanks = 0; blanks <= MAX_BLANKS; blanks += 1) {
    const next = up ? lineBefore(text, lines[0]) : lineAfter(text, lines.at(-1));
    if (next === undefined) return false;
    if (up) lines.unshift(next);
    else lines.push(next);
    if (next.text.trim() !== '') return bare(next.text) === want;
  }
  return false;
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
 * Aligns the lines of an anchor (an edit's old text) with a similar block of the file; undefined if
 * they do not correspond.
 */
export function pairUp(text: string, anchor: readonly string[], block: Block): Paired | undefined {
  const filled = anchor.flatMap((line, index) => (line.trim() === '' ? [] : [index]));
  const firstFilled = filled[0];
  const lastFilled = filled.at(-1);
  if (firstFilled === undefined || lastFilled === undefined) return undefined;
  const { file, lead } = withEdges(text, block, { lead: firstFilled, trail: anchor.length - 1 - lastFilled });
  const at: (number | undefined)[] = anchor.map(() => undefined);
  let difference = 0;
  let position = lead - 1;
  let previous: number | undefined;
  for (const index of filled) {
    const next = nextFilled(file, position + 1);
    if (next === undefined) return undefined;
    const blanks = previous === undefined ? 0 : index - previous - 1;
    const there = previous === undefined ? 0 : next - position - 1;
    if (previous !== undefined) {
      for (let i = 0; i < Math.min(blanks, there); i += 1) at[previous + 1 + i] = position + 1 + i;
      difference += Math.abs(blanks - there);
    }
    at[index] = next;
    position = next;
    previous = index;
  }
  const edges = edgePairs(at, { lead, firstFilled, lastFilled, file, position });
  return { anchor, file, at, blankDifference: difference, edgeBlanks: edges };
}

/**
 * Aligns blank lines at the beginning and end of the old text with those of the file. Returns how
 * many the file lacks.
 */
function edgePairs(
  at: (number | undefined)[],
  ends: {
    lead: number;
    firstFilled: number;
    lastFilled: number;
    file: readonly FileLine[];
    position: number;
  },
): number {
  let missing = 0;
  for (let i = 0; i < ends.firstFilled; i += 1) {
    const index = ends.lead - (ends.firstFilled - i);
    if (index >= 0) at[i] = index;
    else missing += 1;
  }
  for (let i = ends.lastFilled + 1; i < at.length; i += 1) {
    const index = ends.position + (i - ends.lastFilled);
    if (index < ends.file.length) at[i] = index;
    else missing += 1;
  }
  return missing;
}

/** Extends the block by the file's blank lines around it, up to as many as the old text has. */
function withEdges(
  text: string,
  block: Block,
  wanted: { readonly lead: number; readonly trail: number },
): { readonly file: readonly FileLine[]; readonly lead: number } {
  const file = [...block.lines];
  let lead = 0;
  for (; lead < wanted.lead; lead += 1) {
    const line = lineBefore(text, file[0]);
    if (line === undefined || line.text.trim() !== '') break;
    file.unshift(line);
  }
  for (let trail = 0; trail < wanted.trail; trail += 1) {
    const line = lineAfter(text, file.at(-1));
    if (line === undefined || line.text.trim() !== '') break;
    file.push(line);
  }
  return { file, lead };
}

function nextFilled(file: readonly FileLine[], from: number): number | undefined {
  for (let i = from; i < file.length; i += 1) if (file[i]?.text.trim() !== '') return i;
  return undefined;
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
