import { clip, phrase } from '../report/bounded.ts';

/** Functions that colour text. Each returns it unchanged if colour is off. */
export interface Colours {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

const same = (text: string): string => text;

/** No colour: for pipes, files and `NO_COLOR`. */
export const PLAIN: Colours = { bold: same, dim: same, red: same, green: same, yellow: same };

/** A column of a table, and its cell in a row. */
export interface TableColumn<in T> {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /**
   * Allows cutting the column to fit the table: at the end, or at the front if the end is more informative
   * (paths).
   */
  readonly cut?: 'end' | 'front';
  readonly paint?: (cell: string) => string;
  /**
   * For a table without a maximum width: cells are padded to at most this many characters. So one
   * long cell does not widen every row.
   */
  readonly padAtMost?: number;
  /** True to leave the column out if its cells are empty in all rows. */
  readonly isOptional?: boolean;
  readonly cell: (row: T) => string;
}

/** The form of a table, and lines between its rows. */
interface TableForm {
  /** Width of the terminal; undefined means no limit. */
  readonly width?: number | undefined;
  readonly colours?: Colours;
  /** Lines above the row with the same index. */
  readonly headings?: readonly (string | undefined)[];
  /** Lines below the row with the same index, with details about it. */
  readonly details?: readonly (string | undefined)[];
}

const GAP = '  ';

const MIN_CUT_WIDTH = 8;

const MAX_CELL_CHARS = 2000;

/**
 * Formats rows under titles, with no line of a row wider than `width`. Cells are one line: control characters become
 * spaces. Width is counted in characters; East Asian wide characters take two columns and may overflow.
 */
export function table<T>(
  all: readonly TableColumn<NoInfer<T>>[],
  rows: readonly T[],
  { width, colours = PLAIN, headings = [], details = [] }: TableForm = {},
): string {
  const columns = all.filter(
    ({ isOptional, cell }) => isOptional !== true || rows.some((row) => cell(row) !== ''),
  );
  const cells = rows.map((row) => columns.map(({ cell }) => oneLine(cell(row))));
  const widths = fittedWidths(columns, cells, width ?? Number.POSITIVE_INFINITY);
  const line = (row: readonly string[], paintOf: (column: TableColumn<T>) => (cell: string) => string) =>
    columns
      .map((column, i) => {
        const own = widths[i] ?? 0;
        const cell = cutTo(row[i] ?? '', own, column);
        const padded = width === undefined ? Math.min(own, column.padAtMost ?? own) : own;
        const isLast = i === columns.length - 1 && column.align !== 'right';
        return paintOf(column)(isLast ? cell : pad(cell, padded, column));
      })
      .filter((_, i) => (widths[i] ?? 0) > 0)
      .join(GAP)
      .trimEnd();
  const titles = columns.map(({ title }) => title);
  const lines = cells.flatMap((row, index) => {
    const [heading, detail] = [headings[index], details[index]];
    return [
      ...(heading === undefined ? [] : [colours.bold(phrase(heading))]),
      line(row, ({ paint = same }) => paint),
      ...(detail === undefined ? [] : [colours.dim(`  ${phrase(detail)}`)]),
    ];
  });
  return [line(titles, () => colours.dim), ...lines].join('\n');
}

/**
 * The widths of the columns. Leaves out columns on the right until the rest can be cut to fit. Then
 * shortens one column by one character, again and again, until all fit.
 */
function fittedWidths(
  columns: readonly TableColumn<never>[],
  rows: readonly (readonly string[])[],
  width: number,
): number[] {
  const natural = columns.map(({ title }, i) =>
    rows.reduce((widest, row) => Math.max(widest, lengthOf(row[i] ?? '')), lengthOf(title)),
  );
  const least = natural.map((own, i) => (columns[i]?.cut === undefined ? own : Math.min(own, MIN_CUT_WIDTH)));
  let kept = columns.length;
  while (kept > 1 && total(least.slice(0, kept)) > width) kept--;
  const widths = natural.map((own, i) => (i < kept ? own : 0));
  for (let excess = total(widths) - width; excess > 0; excess--) {
    const widest = widestOf('end', columns, widths) ?? widestOf('front', columns, widths);
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  if (total(widths) > width) widths[0] = Math.max(1, Math.floor(width));
  return widths;
}

/** The widest column that can be cut here. A path is cut only if no other column can be. */
function widestOf(
  cut: 'end' | 'front',
  columns: readonly TableColumn<never>[],
  widths: readonly number[],
): number | undefined {
  const own = widths.map((width, i) => (columns[i]?.cut === cut ? width : 0));
  const widest = Math.max(...own);
  return widest > MIN_CUT_WIDTH ? own.indexOf(widest) : undefined;
}

function total(widths: readonly number[]): number {
  const shown = widths.filter((width) => width > 0);
  return shown.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, shown.length - 1);
}

function cutTo(cell: string, width: number, { cut }: TableColumn<never>): string {
  const chars = [...cell];
  if (chars.length <= width) return cell;
  if (width <= 0) return '';
  return cut === 'front'
    ? `…${chars.slice(chars.length - width + 1).join('')}`
    : `${chars.slice(0, width - 1).join('')}…`;
}

function pad(cell: string, width: number, { align }: TableColumn<never>): string {
  const spaces = ' '.repeat(Math.max(0, width - lengthOf(cell)));
  return align === 'right' ? spaces + cell : cell + spaces;
}

function lengthOf(text: string): number {
  return [...text].length;
}

function oneLine(text: string): string {
  return clip(text, MAX_CELL_CHARS).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}

/** Colours the added and removed lines of a unified diff. */
export function paintDiff(text: string, colours: Colours): string {
  return text
    .split('\n')
    .map((line) => {
      if (/^(---|\+\+\+) /.test(line)) return colours.bold(line);
      if (line.startsWith('@@')) return colours.dim(line);
      if (line.startsWith('+')) return colours.green(line);
      return line.startsWith('-') ? colours.red(line) : line;
    })
    .join('\n');
}
