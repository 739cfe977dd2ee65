import { type LineRange, mergeRanges } from '../model/coverage.ts';
import type { Policy } from '../model/policy.ts';
import { decodeText, hasNul } from './decode.ts';
import {
  charactersOf,
  diffMiddle,
  type Hunk,
  type LineDiff,
  linesBefore,
  linesFrom,
  type Middle,
  middleOf,
  type TextOrBytes,
} from './diff.ts';
import { clampLine, countNewlines, endingOf, type Span, splitLines, withoutEnding } from './lines.ts';
import { mayHoldSecret } from './secret-scan.ts';
import { isSecretPath, type KnownSecrets, masked, secretSpans } from './secrets.ts';

interface UnifiedOptions {
  /** Maximum rows, including `@@` rows. One more row says how many are missing. */
  readonly maxLines: number;
  /** Number of unchanged lines around each change; default 3. */
  readonly context?: number;
  /** Longer lines are cut and marked, and do not count as shown; default 500. */
  readonly maxLineChars?: number;
}

export interface UnifiedDiff {
  /**
   * The rows of the diff; empty if nothing changed. There are no `---` and `+++` rows, because only the caller knows
   * the names of the files.
   */
  readonly text: string;
  readonly truncated: boolean;
  /** Lines of the new text that `text` shows completely, as context or as new lines. */
  readonly shownAfter: readonly LineRange[];
  readonly diff: LineDiff;
}

/**
 * A bounded unified diff for reading. Bytes are read as UTF-8; a line that is not UTF-8 does not
 * count as shown. If line endings differ within the shown part, `\r` is shown as `␍`; otherwise it
 * is omitted.
 */
export function unifiedDiff<T extends TextOrBytes>(
  before: T,
  after: T,
  options: UnifiedOptions,
): UnifiedDiff {
  const [was, is] = [charactersOf(before), charactersOf(after)];
  const middle = middleOf(was, is);
  if (middle === undefined)
    return { text: '', truncated: false, shownAfter: [], diff: { hunks: [], rough: false } };
  const diff = diffMiddle(middle);
  const window = widen(middle, was, options.context ?? 3);
  const rows = grouped(diff.hunks, window.context).flatMap((hunks) => groupRows(hunks, window));
  const endings = new Set(rows.map(({ line }) => endingOf(line)));
  const isMixed = endings.has('\n') && endings.has('\r\n');
  const isBytes = typeof before !== 'string';
  const printed = rows.flatMap((row) => printedRows(row, { ...options, isMixed, isBytes }));
  return { ...page(printed, options.maxLines), diff };
}

/**
 * The changed part of both texts with its context, split into lines. `base`: the number of lines
 * before that part.
 */
interface Window {
  readonly base: number;
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly context: number;
}

/** A line of the diff, or with the sign `@` the header of a group of changes. */
interface Row {
  readonly sign: '@' | ' ' | '-' | '+';
  readonly line: string;
  /** 1-based line number in the new text; absent for `-` rows. */
  readonly number?: number;
}

function widen(middle: Middle, before: string, context: number): Window {
  const lead = splitLines(linesBefore(before, middle.head, context));
  const trail = splitLines(linesFrom(before, before.length - middle.tail, context));
  return {
    base: middle.headLines - lead.length,
    before: [...lead, ...splitLines(middle.before), ...trail],
    after: [...lead, ...splitLines(middle.after), ...trail],
    context,
  };
}

/** Groups hunks whose contexts touch, so that they are shown together. */
function grouped(hunks: readonly Hunk[], context: number): Hunk[][] {
  const groups: Hunk[][] = [];
  for (const hunk of hunks) {
    const last = groups.at(-1);
    const end = last?.at(-1)?.beforeEnd;
    if (last !== undefined && end !== undefined && hunk.beforeStart - end <= 2 * context) last.push(hunk);
    else groups.push([hunk]);
  }
  return groups;
}

function groupRows(hunks: readonly Hunk[], { base, before, after, context }: Window): Row[] {
  const first = hunks[0] ?? { beforeStart: 0, afterStart: 0 };
  const lead = Math.min(context, first.beforeStart - base);
  const start = { before: first.beforeStart - base - lead, after: first.afterStart - base - lead };
  const rows: Row[] = [];
  let at = start.before;
  let number = start.after;
  const keep = (end: number): void => {
    for (; at < end; at += 1, number += 1)
      rows.push({ sign: ' ', line: before[at] ?? '', number: base + number + 1 });
  };
  for (const hunk of hunks) {
    keep(hunk.beforeStart - base);
    for (; at < hunk.beforeEnd - base; at += 1) rows.push({ sign: '-', line: before[at] ?? '' });
    for (; number < hunk.afterEnd - base; number += 1)
      rows.push({ sign: '+', line: after[number] ?? '', number: base + number + 1 });
  }
  keep(Math.min(before.length, at + context));
  const from = extent(base + start.before, at - start.before);
  const to = extent(base + start.after, number - start.after);
  return [{ sign: '@', line: `@ -${from} +${to} @@` }, ...rows];
}

/** Formats a range like git: an empty range names the line before it, and a count of one is omitted. */
function extent(start: number, count: number): string {
  if (count === 0) return `${start},0`;
  return count === 1 ? `${start + 1}` : `${start + 1},${count}`;
}

/** A row as it is shown. */
interface PrintedRow {
  readonly text: string;
  /** The line of the new text that the row shows, if there is one. */
  readonly number?: number | undefined;
  /** `whole`: the row shows the line unmodified. `cut`: it shows the beginning. */
  readonly shows?: 'whole' | 'cut' | 'other';
}

function printedRows(
  { sign, line, number }: Row,
  style: { readonly isMixed: boolean; readonly isBytes: boolean; readonly maxLineChars?: number },
): PrintedRow[] {
  if (sign === '@') return [{ text: sign + line }];
  const content = withoutEnding(line);
  const decoded = style.isBytes ? Buffer.from(content, 'latin1').toString('utf8') : content;
  const { text, clamped } = clampLine(decoded, style.maxLineChars ?? 500);
  const cr = style.isMixed && endingOf(line) === '\r\n' ? '␍' : '';
  const shows = clamped ? 'cut' : style.isBytes && isBroken(content, decoded) ? 'other' : 'whole';
  const row = { text: sign + text + cr, number, shows } as const;
  return endingOf(line) === '' ? [row, { text: '\\ No newline at end of file' }] : [row];
}

/** The first rows, the number of the others, and the lines of the new text that they show. */
function page(rows: readonly PrintedRow[], maxLines: number): Omit<UnifiedDiff, 'diff'> {
  const shown = rows.slice(0, maxLines);
  const linesThat = (wanted: PrintedRow['shows']): readonly LineRange[] =>
    mergeRanges(
      shown.flatMap(({ number, shows }) =>
        number === undefined || shows !== wanted ? [] : [{ from: number, to: number }],
      ),
    );
  const out = shown.map(({ text }) => text);
  const missing = rows.length - shown.length;
  const cut = linesThat('cut');
  if (missing > 0) out.push(`… ${missing} more lines of this diff not shown`);
  if (cut.length > 0) out.push(`… only the beginning is shown of ${lineNames(cut)}`);
  return { text: out.join('\n'), truncated: missing > 0, shownAfter: linesThat('whole') };
}

function lineNames(ranges: readonly LineRange[]): string {
  const names = ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`));
  return `${names.length === 1 && !names[0]?.includes('-') ? 'line' : 'lines'} ${names.join(', ')}`;
}

/** True if a line is not UTF-8. `content` is the line read as Latin-1, `decoded` the line read as UTF-8. */
function isBroken(content: string, decoded: string): boolean {
  return decoded.includes('\ufffd') && Buffer.from(decoded).toString('latin1') !== content;
}

export interface MaskedDiffOptions extends UnifiedOptions {
  readonly secrets: Policy['secrets'];
  readonly known?: KnownSecrets | undefined;
  /** Path of the file. It determines whether all values in the file are secret. */
  readonly path: string;
}

/**
 * Builds a unified diff with secrets masked, as the policy demands. `diff` is the diff of the
 * unmasked texts. Bytes are read as UTF-8, or as UTF-16 if they are that. A line with a masked
 * value, or one that cannot be decoded, does not count as shown.
 */
export function maskedDiff<T extends TextOrBytes>(
  before: T,
  after: T,
  options: MaskedDiffOptions,
): UnifiedDiff {
  const texts = utf16Texts(before, after);
  return texts === undefined ? maskedLines(before, after, options) : maskedLines(...texts, options);
}

/**
 * The texts of two files if one of them is UTF-16. As UTF-8 they would be shown with NULs, and no
 * secret in them would be found. Undefined if neither is UTF-16, or if one of them cannot be
 * decoded.
 */
function utf16Texts(before: TextOrBytes, after: TextOrBytes): [string, string] | undefined {
  if (typeof before === 'string' || typeof after === 'string') return undefined;
  if (!hasNul(before) && !hasNul(after)) return undefined;
  const [was, is] = [decodeText(before), decodeText(after)];
  return was === undefined || is === undefined ? undefined : [was.text, is.text];
}

function maskedLines<T extends TextOrBytes>(before: T, after: T, options: MaskedDiffOptions): UnifiedDiff {
  const { known } = options;
  const secretFile = isSecretPath(options.path);
  const plain = unifiedDiff(before, after, options);
  if (options.secrets === 'show' || plain.text === '') return plain;
  if (!secretFile && !mayHold(before, known) && !mayHold(after, known)) return plain;
  const [was, is] = [textOf(before), textOf(after)];
  const [then, now] = [masked(was, { secretFile, known }), masked(is, { secretFile, known })];
  if (then === was && now === is) return plain;
  const shown = unifiedDiff(then, now, options);
  if (shown.text === '') return { ...plain, text: ONLY_MASKED, shownAfter: [] };
  const shownAfter = without(
    without(shown.shownAfter, linesOfSpans(is, secretSpans(is, { secretFile, known }))),
    brokenLines(after),
  );
  return { ...shown, shownAfter, diff: plain.diff };
}

/** The lines that spans touch. The spans must be ascending, so that newlines are counted only once. */
function linesOfSpans(text: string, spans: readonly Span[]): readonly LineRange[] {
  let line = 1;
  let counted = 0;
  return spans.map(({ start, end }) => {
    const from = line + countNewlines(text, start, counted);
    line = from + countNewlines(text, end - 1, start);
    counted = end - 1;
    return { from, to: line };
  });
}

const ONLY_MASKED = '(only masked values differ)';

function mayHold(content: TextOrBytes, known: KnownSecrets | undefined): boolean {
  return typeof content === 'string' || mayHoldSecret(content) || known?.mayBeIn(content) === true;
}

function textOf(content: TextOrBytes): string {
  return typeof content === 'string' ? content : new TextDecoder().decode(content);
}

/** The lines that are not UTF-8. */
function brokenLines(content: TextOrBytes): readonly LineRange[] {
  if (typeof content === 'string') return [];
  return splitLines(charactersOf(content)).flatMap((line, index) => {
    const broken = isBroken(line, Buffer.from(line, 'latin1').toString('utf8'));
    return broken ? [{ from: index + 1, to: index + 1 }] : [];
  });
}

/** The ranges minus the lines of `others`; both must be sorted. */
function without(ranges: readonly LineRange[], others: readonly LineRange[]): readonly LineRange[] {
  return others.reduce<readonly LineRange[]>(
    (left, { from, to }) =>
      left.flatMap((range) => {
        if (to < range.from || from > range.to) return [range];
        return [
          { from: range.from, to: from - 1 },
          { from: to + 1, to: range.to },
        ].filter((part) => part.from <= part.to);
      }),
    ranges,
  );
}
