import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Page, readPage } from '../../src/disk/page.ts';
import { bench } from '../support/disk.ts';

const LINE_BYTES = 64;
const LINES = 16 << 20;

it('a page anywhere in a 1 GB file is correct and takes less than 64 MB of memory', async () => {
  const disk = bench([]);
  const fd = openSync(join(disk.root, 'huge'), 'w');
  const block = 1 << 14;
  for (let line = 0; line < LINES; line += block) {
    const text = Array.from({ length: block }, (_, index) => `${line + index + 1}`.padEnd(LINE_BYTES - 1));
    writeSync(fd, `${text.join('\n')}\n`);
  }
  closeSync(fd);
  const place = disk.place('huge');
  const page = async (request: Partial<Parameters<typeof readPage>[1]>): Promise<Page> => {
    const range = { clock: disk.context.clock, from: 1, limit: 3, maxLineBytes: 2000, ...request };
    const read = await readPage(place, range);
    if ('problem' in read) throw new Error(read.problem);
    return read;
  };
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const onProgress = (): void => {
    most = Math.max(most, process.memoryUsage.rss());
  };
  const numbers = (read: Page): number[] => read.lines.map((line) => Number(line.toString()));
  const middle = await page({ from: LINES / 2, onProgress });
  expect(numbers(middle)).toEqual([LINES / 2, LINES / 2 + 1, LINES / 2 + 2]);
  const last = await page({ from: LINES - 1, start: middle.next, onProgress });
  expect([numbers(last), last.totalLines]).toEqual([[LINES - 1, LINES], LINES]);
  expect((most - before) / (1 << 20)).toBeLessThan(64);
});
