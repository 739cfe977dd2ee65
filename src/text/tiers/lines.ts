import type { MatchTier } from '../../model/results.ts';
import { diffItems, equalStretches, type Stretch } from '../diff.ts';
import { asTyped } from '../fold.ts';
import { endingUsed, type LineEnding, type Span } from '../lines.ts';

const MAX_EDGE_BLANKS = 2;
const BLANK_END = /\n[ \t]*$/;

/**
 * Places an edit on lines that are similar to its old text: those at `at`, or else the only ones in
 * the file. Undefined unless a single kind of mistake by the model explains all differences: the
 * indentation, blank lines, spaces inside lines, or spaces at line ends. Lines that the edit keeps
 * stay as they are in the file. In its new lines, the mistake is corrected.
 */
export function landOnLines(text: string, texts: Texts, at?: Span): PlacedEdit | Rivals | undefined {
  const { oldString, newString } = withoutBlankEnds(texts);
  const [anchor, wanted] = [linesOf(oldString), linesOf(newString)];
  const places = at === undefined ? pairsLike(text, anchor.lines) : pairsAt(text, anchor.lines, at);
  const [paired, ...others] = places;
  if (others.length > 0) return { spans: places.map(filledSpan) };
  const mistake = paired && explain(paired);
  const [first, ...more] = paired?.file ?? [];
  if (paired === undefined || mistake === undefined || first === undefined) return undefined;
  // If the file lacks blank lines of the old text, but already contains the new text, the edit may
  // already have been made: refuse it.
  if (paired.edgeBlanks > 0 && text.includes(newString.trim())) return undefined;
  const lines = rewritten(paired, wanted.lines, mistake);
  if (lines === undefined) return undefined;
  const usual = endingUsed(text) === '\r\n' ? '\r\n' : '\n';
  return { tier: mistake.tier, ...withEnds([first, ...more], { lines, anchor, wanted }, usual) };
}

/** The span from the first to the last line that is not blank. */
function filledSpan({ file }: Paired): Span {
  const filled = file.filter(({ text }) => text.trim() !== '');
  return { start: filled[0]?.start ?? 0, end: filled.at(-1)?.end ?? 0 };
}

/** If the old and the new text of an edit both end with a line of only white space, removes that white space. */
function withoutBlankEnds(texts: Texts): Texts {
  const { oldString, newString } = texts;
  if (!BLANK_END.test(oldString) || !BLANK_END.test(newString)) return texts;
  return { oldString: oldString.replace(/[ \t]+$/, ''), newString: newString.replace(/[ \t]+$/, '') };
}

interface Lines {
  readonly lines: readonly string[];
  /** True if the text ends with a newline. */
  readonly ended: boolean;
}

function linesOf(text: string): Lines {
  if (text === '') return { lines: [], ended: false };
  const ended = text.endsWith('\n');
  const lines = text.split(/\r?\n/);
  return { lines: ended ? lines.slice(0, -1) : lines, ended };
}

/** The single kind of mistake that explains the differences between the edit's old text and the file. */
interface Mistake {
  readonly tier: MatchTier;
  readonly reindent?: Reindent;
  /** True if the model added white space at line ends where the file has none. */
  readonly trailing: boolean;
}

function explain({ anchor, file, at, blankDifference, edgeBlanks }: Paired): Mistake | undefined {
  const pairs = anchor.flatMap((line, index) => {
    const there = file[at[index] ?? -1]?.text;
    return there === undefined || line.trim() === '' ? [] : [{ written: line, there }];
  });
  const trailing = anchor.some(
    (line, index) => /\s$/.test(line) && !/\s$/.test(file[at[index] ?? -1]?.text ?? ' '),
  );
  const sameEnds = pairs.map(({ written, there }) => ({
    written: written.trimEnd(),
    there: there.trimEnd(),
  }));
  const same = sameEnds.every(({ written, there }) => written === there);
  const blanks = blankDifference + edgeBlanks;
  if (blanks > 0)
    return same && blankDifference <= 1 && edgeBlanks <= MAX_EDGE_BLANKS && blankDifference * edgeBlanks === 0
      ? { tier: 'blank-lines', trailing }
      : undefined;
  if (same) return { tier: 'trailing-space', trailing };
  if (sameEnds.every(({ written, there }) => written.trimStart() === there.trimStart())) {
    const reindent = reindentRule(
      sameEnds.map(({ written, there }) => ({ written: indentOf(written), there: indentOf(there) })),
    );
    return reindent === undefined ? undefined : { tier: 'indentation', reindent, trailing };
  }
  const spaced = sameEnds.every(
    ({ written, there }) => indentOf(written) === indentOf(there) && collapsed(written) === collapsed(there),
  );
  return spaced ? { tier: 'inner-spacing', trailing } : undefined;
}

function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

/**
 * A line to write. `ending`: the ending of the file's line that this line keeps or replaces, if
 * there is such a line.
 */
interface WrittenLine {
  readonly text: string;
  readonly ending?: LineEnding | undefined;
}

/**
 * The lines to write: the file's lines where the edit keeps them, otherwise the model's lines, corrected for the
 * mistake.
 */
function rewritten(paired: Paired, wanted: readonly string[], mistake: Mistake): WrittenLine[] | undefined {
  const ends = (line: string): string => line.trimEnd();
  const { hunks } = diffItems(paired.anchor.map(ends), wanted.map(ends));
  const out: WrittenLine[] = [];
  let [anchorAt, wantedAt] = [0, 0];
  for (const kept of equalStretches(hunks, paired.anchor.length)) {
    const gap = { from: anchorAt, to: kept.start, lines: wanted.slice(wantedAt, kept.start + kept.shift) };
    const own = ownLines(paired, gap, mistake);
    if (own === undefined) return undefined;
    out.push(...own, ...keptLines(paired, kept, wanted));
    [anchorAt, wantedAt] = [kept.end, kept.end + kept.shift];
  }
  return out;
}

/** A replaced stretch of the old text: lines `from` to `to` (exclusive), and the new lines. */
interface Gap {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/**
 * True if an edit adds lines, or removes a blank line, beside a blank line of its old text that the
 * file lacks. In the file, the lines on both sides may belong together, so the place of the new
 * lines is unknown. At the beginning and the end of the file there is only one side.
 */
function isUnclearBesideBlank({ anchor, at, atStart, atEnd }: Paired, gap: Gap): boolean {
  const isFilled = (line = ''): boolean => line.trim() !== '';
  const present = anchor.slice(gap.from, gap.to).filter((_, index) => at[gap.from + index] !== undefined);
  if (gap.lines.length <= present.length && present.every(isFilled)) return false;
  const first = atStart ? anchor.findIndex(isFilled) : 0;
  const last = atEnd ? anchor.findLastIndex(isFilled) : anchor.length - 1;
  const [from, to] = [Math.max(gap.from - 1, first), Math.min(gap.to, last)];
  return at.slice(from, to + 1).includes(undefined);
}

function ownLines(paired: Paired, gap: Gap, mistake: Mistake): WrittenLine[] | undefined {
  const missed = missedBlanks(paired, gap);
  if (missed === undefined || isUnclearBesideBlank(paired, gap)) return undefined;
  const removed = paired.anchor.slice(gap.from, gap.to);
  const lines: WrittenLine[] = [];
  for (const [index, line] of gap.lines.entries()) {
    const bare = mistake.trailing ? line.trimEnd() : line;
    const counterpart = removed.length === gap.lines.length ? gap.from + index : undefined;
    const corrected = correct(paired, { line: bare, counterpart }, mistake);
    if (corrected === undefined) return undefined;
    lines.push({ text: corrected, ending: fileLine(paired, counterpart)?.ending });
  }
  return [...missed.before, ...lines, ...missed.after];
}

interface OwnLine {
  readonly line: string;
  /**
   * The old line that this new line replaces. Undefined if the replaced stretch has more or fewer
   * new lines than old ones.
   */
  readonly counterpart: number | undefined;
}

function correct(paired: Paired, own: OwnLine, mistake: Mistake): string | undefined {
  const { line, counterpart } = own;
  if (mistake.tier === 'indentation') {
    if (line.trim() === '') return '';
    const indent = mistake.reindent?.(indentOf(line));
    return indent === undefined ? undefined : indent + line.slice(indentOf(line).length);
  }
  if (mistake.tier !== 'inner-spacing') return line;
  if (onlyWidened(paired)) return indentOf(line) + narrowed(pieces(line.trimStart()));
  const written = counterpart === undefined ? undefined : paired.anchor[counterpart];
  const there = fileLine(paired, counterpart)?.text;
  if (written !== undefined && there !== undefined) return respaced({ written, there, wanted: line });
  return undefined;
}

/** The file's line for a line of the old text. */
function fileLine({ file, at }: Paired, index: number | undefined): FileLine | undefined {
  return index === undefined ? undefined : file[at[index] ?? -1];
}

/** True if the model only doubled single spaces. Its new lines then have doubled spaces too, which can be reverted. */
function onlyWidened({ anchor, file, at }: Paired): boolean {
  return anchor.every((written, index) => {
    const there = file[at[index] ?? -1]?.text.trimEnd();
    return (
      there === undefined ||
      (collapsed(there.trimStart()) === there.trimStart() &&
        onlyWidens({ written: written.trimEnd(), there }))
    );
  });
}

/** The file's lines for old lines that the edit keeps, and blank lines between them that the model missed. */
function keptLines(paired: Paired, kept: Stretch, wanted: readonly string[]): WrittenLine[] {
  const out: WrittenLine[] = [];
  let previous: number | undefined;
  for (let i = kept.start; i < kept.end; i += 1) {
    const index = paired.at[i];
    if (index === undefined) continue;
    out.push(...paired.file.slice(previous === undefined ? index : previous + 1, index));
    const there = paired.file[index];
    const line = wanted[i + kept.shift];
    if (there !== undefined)
      out.push(dropsSpace(paired.anchor[i], line, there) ? { ...there, text: line } : there);
    previous = index;
  }
  return out;
}

/** True if the edit removes white space at a line end that both its old text and the file have. */
function dropsSpace(
  written: string | undefined,
  wanted: string | undefined,
  { text }: FileLine,
): wanted is string {
  return written === text && wanted !== text && wanted === text.trimEnd();
}

/**
 * Blank lines of the file, next to the replaced lines, that the model missed. They stay before or
 * after the new lines. Undefined if it is unclear on which side they belong.
 */
function missedBlanks(paired: Paired, gap: Gap): { before: FileLine[]; after: FileLine[] } | undefined {
  const { at, file } = paired;
  const replaced = at.slice(gap.from, gap.to).filter((index) => index !== undefined);
  const above = gap.from === 0 ? undefined : at.slice(0, gap.from).findLast((index) => index !== undefined);
  const below = at.slice(gap.to).find((index) => index !== undefined);
  const first = replaced[0];
  const last = replaced.at(-1);
  if (first === undefined || last === undefined) {
    const between = above !== undefined && below !== undefined ? below - above - 1 : 0;
    return between > 0 && gap.lines.length > 0
      ? undefined
      : { before: blanks(file, above, below), after: [] };
  }
  const before = blanks(file, above, first);
  const after = blanks(file, last, below);
  const inside = last - first + 1 - replaced.length;
  // If the new text has a blank line there, it may be the missed one or an additional one.
  const isUnclear = (missed: readonly FileLine[], line = ''): boolean =>
    missed.length > 0 && line.trim() === '';
  if (inside > 0 || isUnclear(before, gap.lines[0]) || isUnclear(after, gap.lines.at(-1))) return undefined;
  return { before, after };
}

function blanks(file: readonly FileLine[], above: number | undefined, below: number | undefined): FileLine[] {
  return above === undefined || below === undefined ? [] : file.slice(above + 1, below);
}

/**
 * The span to replace, and the lines to put there with the endings of the file's lines. The span
 * includes the ending of its last line only if the old text ends with a newline, or if there are no
 * lines to put there.
 */
function withEnds(
  file: readonly [FileLine, ...FileLine[]],
  { lines, anchor, wanted }: { lines: readonly WrittenLine[]; anchor: Lines; wanted: Lines },
  usual: LineEnding,
): Pick<PlacedEdit, 'span' | 'replacement'> {
  const [first] = file;
  const last = file.at(-1) ?? first;
  const whole = anchor.ended || lines.length === 0;
  let ending = first.ending || usual;
  let replacement = '';
  for (const [index, line] of lines.entries()) {
    ending = line.ending || ending;
    replacement += index < lines.length - 1 ? line.text + ending : line.text;
  }
  // A newline that only the new text has is written in addition to the file's own, as for an exact match.
  const added = anchor.ended ? last.ending : last.ending || ending;
  const closes = lines.length > 0 && wanted.ended;
  return {
    span: { start: first.start, end: whole ? last.end + last.ending.length : last.end },
    replacement: closes ? replacement + added : replacement,
  };
}

/** Collapses every run of spaces and tabs to one space, except inside string literals. */
function collapsed(line: string): string {
  return pieces(line)
    .map(({ text, blank }) => (blank ? ' ' : text))
    .join('');
}

interface Piece {
  readonly text: string;
  /** True for white space outside string literals. */
  readonly blank: boolean;
}

/**
 * Matches whole string literals, runs of white space, words, and other single characters. An unclosed quote extends to
 * the end.
 */
const PIECE =
  /"(?:\\.|[^"\\])*(?:"|$)|'(?:\\.|[^'\\])*(?:'|$)|`(?:\\.|[^`\\])*(?:`|$)|[ \t]+|[\p{L}\p{N}_]+|./gu;

function pieces(line: string): Piece[] {
  return (line.match(PIECE) ?? []).map((text) => ({ text, blank: /^[ \t]+$/.test(text) }));
}

/** The three forms of a line that a spacing correction needs. */
interface SpacedLine {
  /** The line in the model's old text. */
  readonly written: string;
  /** The line in the file. */
  readonly there: string;
  /** The line in the model's new text. */
  readonly wanted: string;
}

/** The model's new line, with the file's spacing wherever the new line equals the old one. */
function respaced({ written, there, wanted }: SpacedLine): string {
  if (written === there) return wanted;
  const from = pieces(written);
  const file = pieces(there);
  const to = pieces(wanted);
  const plain = (piece: Piece): string => (piece.blank ? ' ' : piece.text);
  const { hunks } = diffItems(from.map(plain), to.map(plain));
  const kept = new Map<number, string>();
  for (const { start, end, shift } of equalStretches(hunks, from.length))
    for (let i = start; i < end; i += 1) kept.set(i + shift, file[i]?.text ?? '');
  return to.map(({ text }, i) => kept.get(i) ?? text).join('');
}

/** Halves double spaces. Longer runs align columns, and two spaces before a comment are usual: both stay. */
function narrowed(line: readonly Piece[]): string {
  const isDouble = (text: string, at: number): boolean =>
    text === '  ' && !/^[#/]/.test(line[at + 1]?.text ?? '');
  return line.map(({ text }, at) => (isDouble(text, at) ? ' ' : text)).join('');
}

/** True if the white space of the two lines differs only where the model widened a single space. */
function onlyWidens({ written, there }: Pick<SpacedLine, 'written' | 'there'>): boolean {
  const file = pieces(there);
  return pieces(written).every((piece, i) => {
    if (!piece.blank || piece.text === file[i]?.text) return true;
    return file[i]?.text === ' ' && piece.text.length > 1;
  });
}

/** A line of the file. `text` and the span do not include its ending. */
interface FileLine extends Span {
  readonly text: string;
  readonly ending: LineEnding;
}

/** The lines of an anchor (an edit's old text) aligned with the file's lines. */
interface Paired {
  readonly anchor: readonly string[];
  readonly file: readonly FileLine[];
  /** For each line of the old text, the index of the file's line; undefined for a blank line that the file lacks. */
  readonly at: readonly (number | undefined)[];
  /** Number of blank lines, between other lines, that only the old text or only the file has. */
  readonly blankDifference: number;
  /** Number of blank lines at the beginning and end of the old text that the file lacks. */
  readonly edgeBlanks: number;
  /** True if the file begins or ends with these lines. */
  readonly atStart: boolean;
  readonly atEnd: boolean;
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
function pairsLike(text: string, anchor: readonly string[]): readonly Paired[] {
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
function pairsAt(text: string, anchor: readonly string[], span: Span): readonly Paired[] {
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
  const [atStart, atEnd] = [file[0]?.start === 0, next === undefined];
  return { anchor, file, at, blankDifference, edgeBlanks: edges.length, atStart, atEnd };
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

/**
 * A rule that converts the model's indentation to the file's. Returns undefined for an indentation
 * that the rule does not cover.
 */
type Reindent = (indent: string) => string | undefined;

/** The indentation of one line as the model wrote it and as in the file. */
interface IndentPair {
  readonly written: string;
  readonly there: string;
}

const MAX_TAB_WIDTH = 8;

/**
 * The single rule that explains every difference of indentation: a shift by the same white space, or
 * one tab width. Undefined if there is no such rule, or no difference.
 */
function reindentRule(pairs: readonly IndentPair[]): Reindent | undefined {
  if (pairs.every(({ written, there }) => written === there)) return undefined;
  return addedShift(pairs) ?? removedShift(pairs) ?? tabRule(pairs);
}

/**
 * Puts additional white space (`shift`) before an indentation. Undefined if the result would mix
 * tabs and spaces.
 */
function joined(shift: string, indent: string): string | undefined {
  const mixed = (shift + indent).includes('\t') && (shift + indent).includes(' ');
  return mixed ? undefined : shift + indent;
}

function addedShift(pairs: readonly IndentPair[]): Reindent | undefined {
  const [first] = pairs;
  if (first === undefined || !first.there.endsWith(first.written)) return undefined;
  const shift = first.there.slice(0, first.there.length - first.written.length);
  if (shift === '' || !pairs.every(({ written, there }) => shift + written === there)) return undefined;
  return (indent) => joined(shift, indent);
}

function removedShift(pairs: readonly IndentPair[]): Reindent | undefined {
  const [first] = pairs;
  if (first === undefined || !first.written.startsWith(first.there)) return undefined;
  const shift = first.written.slice(0, first.written.length - first.there.length);
  if (shift === '' || !pairs.every(({ written, there }) => shift + there === written)) return undefined;
  return (indent) => (indent.startsWith(shift) ? indent.slice(shift.length) : undefined);
}

/**
 * The rule that replaces each tab by a fixed number of spaces, or the reverse. A single space after
 * them, as before the star of a block comment, is kept.
 */
function tabRule(pairs: readonly IndentPair[]): Reindent | undefined {
  for (let width = 1; width <= MAX_TAB_WIDTH; width += 1) {
    for (const rule of [toTabs(width), toSpaces(width)])
      if (pairs.every(({ written, there }) => rule(written) === there)) return rule;
  }
  return undefined;
}

function toTabs(width: number): Reindent {
  return (indent) => {
    const rest = indent.length % width;
    if (!/^ *$/.test(indent) || rest > 1) return undefined;
    return '\t'.repeat((indent.length - rest) / width) + ' '.repeat(rest);
  };
}

function toSpaces(width: number): Reindent {
  return (indent) => {
    const [, tabs = '', rest = ''] = /^(\t*)( ?)$/.exec(indent) ?? [];
    return tabs + rest === indent ? ' '.repeat(tabs.length * width) + rest : undefined;
  };
}
