import { afterAll } from 'vitest';

/** Collects the counts of a long run and prints them as one table at the end of the test file. */
export function attackTable(title: string): (row: Readonly<Record<string, string | number>>) => void {
  const rows: Readonly<Record<string, string | number>>[] = [];
  afterAll(() => {
    const columns = Object.keys(rows[0] ?? {});
    const cells = [columns, ...rows.map((row) => columns.map((column) => String(row[column] ?? '')))];
    const widths = columns.map((_, index) => Math.max(...cells.map((line) => (line[index] ?? '').length)));
    const lines = cells.map((line) => line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  '));
    process.stdout.write(`\n${title}\n${lines.join('\n')}\n\n`);
  });
  return (row) => void rows.push(row);
}
