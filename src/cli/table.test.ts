import { describe, expect, it } from 'vitest';
import { PLAIN, type TableColumn, table } from './table.ts';

type Row = readonly string[];
type Title = Omit<TableColumn<Row>, 'cell'>;

/** A table whose rows hold their cells in order. */
function shown(
  { columns, rows }: { readonly columns: readonly Title[]; readonly rows: readonly Row[] },
  form: Parameters<typeof table>[2] = {},
): string {
  return table(
    columns.map((column, at) => ({ ...column, cell: (row: Row) => row[at] ?? '' })),
    rows,
    form,
  );
}

const base: { readonly columns: readonly Title[]; readonly rows: readonly Row[] } = {
  columns: [
    { title: 'when' },
    { title: 'size', align: 'right' },
    { title: 'path', cut: 'front' },
    { title: 'note', cut: 'end' },
  ],
  rows: [
    ['3 minutes ago', '12 KB', 'src/a/very/long/path/to/a/file.ts', 'changed by another session'],
    ['just now', '5 B', 'b.ts', ''],
  ],
};

describe('table', () => {
  it('is as wide as it needs to be', () => {
    expect(shown(base)).toBe(
      [
        'when            size  path                               note',
        '3 minutes ago  12 KB  src/a/very/long/path/to/a/file.ts  changed by another session',
        'just now         5 B  b.ts',
      ].join('\n'),
    );
  });

  it('cuts words at the end first, and paths at the front only if that is not enough', () => {
    expect(shown(base, { width: 60 })).toBe(
      [
        'when            size  path                          note',
        '3 minutes ago  12 KB  …very/long/path/to/a/file.ts  changed…',
        'just now         5 B  b.ts',
      ].join('\n'),
    );
  });

  it('pads to at most padAtMost without a width, and shows long cells whole', () => {
    const columns = [{ title: 'A', cut: 'end', padAtMost: 4 }, { title: 'B' }] as const;
    const rows = [
      ['x', 'one'],
      ['y'.repeat(9), 'two'],
    ];
    expect(shown({ columns, rows })).toBe('A     B\nx     one\nyyyyyyyyy  two');
  });

  it.each([200, 80, 60, 40, 30, 20, 10, 3, 1])('never exceeds a width of %d', (width) => {
    for (const line of shown(base, { width }).split('\n'))
      expect([...line].length).toBeLessThanOrEqual(width);
  });

  it('cuts no column that must stay whole, as long as another can be cut', () => {
    const columns = [{ title: 'id' }, { title: 'path', cut: 'end' as const }];
    const rows = [['x'.repeat(20), 'some/other/path']];
    expect(shown({ columns, rows }, { width: 32 }).split('\n')[1]).toBe(`${'x'.repeat(20)}  some/othe…`);
  });

  it('cuts the columns that it keeps, instead of leaving one more out', () => {
    const columns = [{ title: 'when' }, { title: 'what', cut: 'end' as const }, { title: 'id' }];
    const rows = [['just now', 'run npm test', 'c0a1b2c3d4e']];
    expect(shown({ columns, rows }, { width: 20 }).split('\n')[1]).toBe('just now  run npm t…');
    expect(shown({ columns, rows }, { width: 31 }).split('\n')[1]).toBe('just now  run npm…  c0a1b2c3d4e');
  });

  it('removes control characters and newlines from cells', () => {
    const text = shown({ columns: [{ title: 'path' }], rows: [['a\n\u001b[31mb\u202ec']] });
    expect(text).toBe('path\na [31mb c');
  });

  it('paints after measuring', () => {
    const colours = { ...PLAIN, dim: (text: string) => `<${text}>` };
    const columns = [{ title: 'a' }, { title: 'b', paint: (cell: string) => `*${cell}*` }];
    expect(shown({ columns, rows: [['xx', 'y']] }, { colours })).toBe('<a >  <b>\nxx  *y*');
  });
});
