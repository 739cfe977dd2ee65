import { clip } from './bounded.ts';

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

export interface Column {
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
}

export interface TableOptions {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
  /** Width of the terminal; undefined means no limit. */
  readonly width?: number | undefined;
  readonly colours?: Colours;
}

const GAP = '  ';

const MIN_CUT_WIDTH = 8;

const MAX_CELL_CHARS = 2000;

/**
 * Formats rows under titles, with no line wider than `width`. Cells are one line: control characters become
 * spaces. Width is counted in characters; East Asian wide characters take two columns and may overflow.
 */
export function table({ columns, rows, width, colours = PLAIN }: TableOptions): string {
  const cells = rows.map((row) => columns.map((_, i) => oneLine(row[i] ?? '')));
  const widths = fitWidths(columns, naturalWidths(columns, cells), width ?? Number.POSITIVE_INFINITY);
  const line = (row: readonly string[], paint: (cell: string, column: Column) => string): string =>
    columns
      .map((column, i) => {
        const last = i === columns.length - 1;
        const cell = cutTo(row[i] ?? '', widths[i] ?? 0, column);
        const padded =
          width === undefined
            ? Math.min(widths[i] ?? 0, column.padAtMost ?? Number.POSITIVE_INFINITY)
            : widths[i];
        return paint(last && column.align !== 'right' ? cell : pad(cell, padded ?? 0, column), column);
      })
      .filter((_, i) => (widths[i] ?? 0) > 0)
      .join(GAP)
      .trimEnd();
  const titles = line(
    columns.map((column) => column.title),
    (cell) => colours.dim(cell),
  );
  return [titles, ...cells.map((row) => line(row, (cell, column) => (column.paint ?? same)(cell)))].join(
    '\n',
  );
}

function naturalWidths(columns: readonly Column[], rows: readonly (readonly string[])[]): number[] {
  return columns.map((column, i) =>
    rows.reduce((widest, row) => Math.max(widest, lengthOf(row[i] ?? '')), lengthOf(column.title)),
  );
}

/**
 * The widths of the columns. Leaves out columns on the right until the rest can be cut to fit. Then
 * shortens one column by one character, again and again, until all fit.
 */
function fitWidths(columns: readonly Column[], natural: readonly number[], width: number): number[] {
  const least = natural.map((own, i) => (columns[i]?.cut === undefined ? own : Math.min(own, MIN_CUT_WIDTH)));
  let kept = columns.length;
  while (kept > 1 && total(least.slice(0, kept)) > width) kept--;
  const widths = natural.map((own, i) => (i < kept ? own : 0));
  for (let excess = total(widths) - width; excess > 0; excess--) {
    const widest = indexOfWidest(columns, widths);
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  if (total(widths) > width) widths[0] = Math.max(1, Math.floor(width));
  return widths;
}

/** The column to shorten next: the widest one, but a path only if no other column can be shorter. */
function indexOfWidest(columns: readonly Column[], widths: readonly number[]): number | undefined {
  return widestOf('end', columns, widths) ?? widestOf('front', columns, widths);
}

function widestOf(
  cut: Column['cut'],
  columns: readonly Column[],
  widths: readonly number[],
): number | undefined {
  let found: number | undefined;
  for (const [i, column] of columns.entries()) {
    const current = widths[i] ?? 0;
    if (column.cut !== cut || current <= MIN_CUT_WIDTH) continue;
    if (found === undefined || current > (widths[found] ?? 0)) found = i;
  }
  return found;
}

function total(widths: readonly number[]): number {
  const shown = widths.filter((width) => width > 0);
  return shown.reduce((sum, width) => sum + width, 0) + GAP.length * Math.max(0, shown.length - 1);
}

function cutTo(cell: string, width: number, column: Column): string {
  const chars = [...cell];
  if (chars.length <= width) return cell;
  if (width <= 0) return '';
  return column.cut === 'front'
    ? `…${chars.slice(chars.length - width + 1).join('')}`
    : `${chars.slice(0, width - 1).join('')}…`;
}

function pad(cell: string, width: number, column: Column): string {
  const spaces = ' '.repeat(Math.max(0, width - lengthOf(cell)));
  return column.align === 'right' ? spaces + cell : cell + spaces;
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
