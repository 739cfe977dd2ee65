import { hash } from 'node:crypto';
import { type LineRange, linesCoverage, WHOLE } from '../../model/coverage.ts';
import type { ShownText } from '../history-sighting.ts';
import { bareView, type View } from '../view.ts';
import type { SkimmedEdit } from './claude-edit.ts';
import {
  endsInNewline,
  endsLine,
  newlinesIn,
  offsetOfLine,
  type Replaced,
  replaceLiteral,
} from './json-literal.ts';

const CARRIAGE_RETURN = Buffer.from('\\r');
const NEWLINE_BYTES = '\\n'.length;

/**
 * What the model knows of a file after its own edit, as `carriedView` tells it, from texts as JSON writes them: what it
 * was shown and what the edit changed are told apart by where they stand, without cutting the text into lines.
 * Undefined when that is not enough: then the line is parsed.
 */
export function carriedEdit(path: string, earlier: readonly View[], edit: SkimmedEdit): View | undefined {
  const change = changeOf(edit);
  if (change === undefined) return undefined;
  const carried: ShownText[] = [];
  const known: LineRange[] = [];
  for (const view of earlier.toReversed()) {
    const shown = carriedText(view, change, known);
    if (shown === undefined) return undefined;
    carried.push(...shown);
    if (view.coverage.kind === 'whole' && shown.length > 0) return wholeView(path, shown[0], change);
  }
  // The same text may have been shown with other line endings.
  if (carried.length === 0 && earlier.length > 0 && edit.before.includes(CARRIAGE_RETURN)) return undefined;
  if (carried.length === 0) return bareView(path, { how: 'edit' });
  const coverage = linesCoverage(carried.map(rangeOf), Number.POSITIVE_INFINITY);
  return bareView(path, { coverage, shown: carried, how: 'edit' });
}

/** A replacement, and what it does to bytes and lines. */
interface Change extends Replaced {
  readonly before: Buffer;
  /** Where the first text that was replaced ends. */
  readonly end: number;
  readonly bytes: number;
  readonly lines: number;
  /** The line after the replaced text becomes part of its last line, or another one's beginning is split off. */
  readonly joins: boolean;
}

function changeOf({ before, from, to, all }: SkimmedEdit): Change | undefined {
  const replaced = replaceLiteral(before, { from, to, all });
  if (replaced === undefined) return undefined;
  return {
    ...replaced,
    before,
    end: replaced.first + from.length,
    bytes: to.length - from.length,
    lines: newlinesIn(to) - newlinesIn(from),
    joins: endsInNewline(from) !== endsInNewline(to),
  };
}

/**
 * The texts of a view as they are after a change; none if it showed another text, or only `known` lines, to which its
 * own are added. Undefined if that cannot be told.
 */
function carriedText(view: View, change: Change, known: LineRange[]): readonly ShownText[] | undefined {
  const carried: ShownText[] = [];
  for (const shown of view.shown ?? []) {
    if (known.some(({ from, to }) => from <= shown.from && shown.to <= to)) continue;
    if (shown.form !== 'json' || shown.from < 1) return undefined;
    const start = offsetOfLine(change.before, shown.from);
    const end = start + shown.size;
    // All but its final newline.
    if (start === 0 && end === change.before.length + NEWLINE_BYTES) return undefined;
    if (start === -1 || !isTextOf(change.before, { start, end }, shown)) continue;
    const moved = movedText(shown, { start, end }, change);
    if (moved === undefined) return undefined;
    known.push(rangeOf(shown));
    carried.push(moved);
  }
  return carried;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Most other texts do not even end where a line does. */
function isTextOf(literal: Buffer, { start, end }: Span, shown: ShownText): boolean {
  return endsLine(literal, end) && hash('sha256', literal.subarray(start, end)) === shown.sha256;
}

/** A text that stands before, behind or around the change. */
function movedText(shown: ShownText, { start, end }: Span, change: Change): ShownText | undefined {
  const { first, count, bytes, lines, joins, literal } = change;
  const { from, to } = shown;
  const isWhole = start === 0 && end === change.before.length;
  if (isWhole) return hashed({ from, to: to + count * lines }, literal);
  if (count > 1) return undefined;
  if (end < first) return shown;
  if (change.end < start && !joins) return { ...shown, from: from + lines, to: to + lines };
  if (first < start || change.end > end || (change.end === end && joins)) return undefined;
  return hashed({ from, to: to + lines }, literal.subarray(start, end + bytes));
}

function hashed({ from, to }: LineRange, text: Buffer): ShownText {
  return { from, to, sha256: hash('sha256', text), size: text.length, form: 'json' };
}

/** A text without a final newline has a line more than newlines. */
function wholeView(path: string, shown: ShownText | undefined, change: Change): View | undefined {
  if (shown === undefined) return undefined;
  const to = shown.to + unended(change.literal) - unended(change.before);
  return bareView(path, { coverage: WHOLE, totalLines: to, shown: [{ ...shown, to }], how: 'edit' });
}

function unended(literal: Buffer): number {
  return literal.length === 0 || endsInNewline(literal) ? 0 : 1;
}

function rangeOf({ from, to }: ShownText): LineRange {
  return { from, to };
}
