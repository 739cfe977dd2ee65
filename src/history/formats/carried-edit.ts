import { hash } from 'node:crypto';
import { type LineRange, linesCoverage, WHOLE } from '../../model/coverage.ts';
import { type Carried, rootsOf, type SeenEntry } from '../entry.ts';
import type { ShownText } from '../history-sighting.ts';
import { bareView, type View } from '../view.ts';
import type { SkimmedEdit } from './claude-edit.ts';
import {
  endsInNewline,
  endsLine,
  type Found,
  findLiteral,
  newlinesIn,
  offsetOfLine,
  replaceLiterals,
} from './json-literal.ts';
import type { SpliceRoom } from './splice-room.ts';

const CARRIAGE_RETURN = Buffer.from('\\r');

/**
 * What the model knows of a file after its own edit, as `carriedView` tells it, from texts as JSON writes them: what it
 * was shown and what the edit changed are told apart by where they stand, without cutting the text into lines.
 * Undefined when that is not enough: then the line is parsed.
 */
export function carriedEdit(
  edit: SkimmedEdit,
  { path, latest }: EditedFile,
  room: SpliceRoom,
): Carried | undefined {
  const change = changeOf(edit, room);
  if (change === undefined) return undefined;
  const { before } = edit;
  const carried: ShownText[] = [];
  const known: LineRange[] = [];
  const used: SeenEntry[] = [];
  let isMissed = false;
  for (const { shown, entry } of textsOf(latest)) {
    if (known.some(({ from, to }) => from <= shown.from && shown.to <= to)) continue;
    const span = placeOf(shown, before);
    if (span === undefined) return undefined;
    if (span === 'elsewhere') {
      isMissed = true;
      continue;
    }
    const moved = movedText(shown, span, change);
    if (moved === undefined) return undefined;
    if (isAll(span, before)) return { view: wholeView(path, moved), roots: rootsOf([entry]) };
    known.push(rangeOf(shown));
    carried.push(moved);
    used.push(entry);
  }
  // The same text may have been shown with other line endings.
  if (isMissed && before.includes(CARRIAGE_RETURN)) return undefined;
  if (carried.length === 0) return { view: bareView(path, { how: 'edit' }), roots: [] };
  const coverage = linesCoverage(carried.map(rangeOf), Number.POSITIVE_INFINITY);
  return { view: bareView(path, { coverage, shown: carried, how: 'edit' }), roots: rootsOf(used) };
}

function* textsOf(
  entries: Iterable<SeenEntry>,
): Iterable<{ readonly shown: ShownText; readonly entry: SeenEntry }> {
  for (const entry of entries) for (const shown of entry.view.shown ?? []) yield { shown, entry };
}

/** A file that was edited. */
export interface EditedFile {
  readonly path: string;
  /** What was last seen of it, newest first. */
  readonly latest: Iterable<SeenEntry>;
}

/** A replacement, and what it does to bytes and lines. */
interface Change extends Found {
  readonly edit: SkimmedEdit;
  readonly room: SpliceRoom;
  /** Where the first text that was replaced ends. */
  readonly end: number;
  readonly lines: number;
  /** The line after the replaced text becomes part of its last line, or another one's beginning is split off. */
  readonly joins: boolean;
}

function changeOf(edit: SkimmedEdit, room: SpliceRoom): Change | undefined {
  const { before, from, to } = edit;
  // The host may have taken the newline behind it as well.
  if (to.length === 0 && !endsInNewline(from)) return undefined;
  const found = findLiteral(before, from, edit.all ? 'all' : 'first');
  if (found === undefined) return undefined;
  const { first, count } = found;
  return {
    first,
    count,
    edit,
    room,
    end: first + from.length,
    lines: newlinesIn(to) - newlinesIn(from),
    joins: endsInNewline(from) !== endsInNewline(to),
  };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where a text that was shown stands; `elsewhere` if it is not where it was. Undefined if that cannot be told. */
function placeOf(shown: ShownText, before: Buffer): Span | 'elsewhere' | undefined {
  if (shown.form !== 'json' || shown.from < 1) return undefined;
  const start = offsetOfLine(before, shown.from);
  const end = start + shown.size;
  if (start === -1 || end > before.length) return 'elsewhere';
  // Most other texts do not even end where a line does.
  if (!endsLine(before, end)) {
    // The newline may be the last one that was shown, or stand before a last line that was empty.
    return endsInNewline(before.subarray(0, end)) ? undefined : 'elsewhere';
  }
  const span = { start, end };
  const text = isAll(span, before) ? before : before.subarray(start, end);
  return hash('sha256', text) === shown.sha256 ? span : 'elsewhere';
}

function isAll({ start, end }: Span, text: Buffer): boolean {
  return start === 0 && end === text.length;
}

/** A text that stands before, behind or around the change. */
function movedText(shown: ShownText, span: Span, change: Change): ShownText | undefined {
  const { start, end } = span;
  const { first, count, lines, joins } = change;
  const { from, to } = shown;
  if (isAll(span, change.edit.before)) return allMoved(shown, change);
  if (count > 1) return undefined;
  if (end < first) return shown;
  if (change.end < start) return { ...shown, from: from + lines, to: to + lines };
  if (first < start || change.end > end || (change.end === end && joins)) return undefined;
  return hashed({ from, to: to + lines }, changed(change, span));
}

/** A text without a final newline has a line more than newlines. */
function allMoved({ from, to }: ShownText, change: Change): ShownText {
  const { before } = change.edit;
  const after =
    change.count === 1
      ? changed(change, { start: 0, end: before.length })
      : replaceLiterals(before, change.edit.from, change.edit.to);
  const last = to + change.count * change.lines + unended(after) - unended(before);
  return hashed({ from, to: last }, after);
}

/** A part of the text, around the one thing that was replaced. */
function changed({ edit, first, end: cut, room }: Change, { start, end }: Span): Buffer {
  return room.splice(edit.before, { start, end, from: first, to: cut, put: edit.to });
}

function hashed({ from, to }: LineRange, text: Buffer): ShownText {
  return { from, to, sha256: hash('sha256', text), size: text.length, form: 'json' };
}

function wholeView(path: string, shown: ShownText): View {
  return {
    path,
    coverage: WHOLE,
    totalLines: shown.to,
    shown: [shown],
    how: 'edit',
    clamped: false,
    redacted: false,
  };
}

function unended(literal: Buffer): number {
  return literal.length === 0 || endsInNewline(literal) ? 0 : 1;
}

function rangeOf({ from, to }: ShownText): LineRange {
  return { from, to };
}
