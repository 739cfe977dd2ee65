import { createHash } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Bench, bench } from '../../test/support/disk.ts';
import { type Page, readPage } from './page.ts';

async function page(disk: Bench, request: Partial<Parameters<typeof readPage>[1]>): Promise<Page> {
  const place = disk.place('f');
  const full = { clock: disk.context.clock, from: 1, limit: 1000, maxLineBytes: 1000, ...request };
  const read = await readPage(place, full);
  place.dir.close();
  if ('problem' in read) throw new Error(read.problem);
  return read;
}

function linesOf(read: Page): string[] {
  return read.lines.map((line) => line.toString('latin1'));
}

/** Reference implementation: splits a text into lines with their endings. */
function split(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

describe('readPage', () => {
  it.each<[string, string, number, number, string[], number | undefined]>([
    ['the whole', 'a\nb\n', 1, 9, ['a\n', 'b\n'], 2],
    ['the first', 'a\nb\nc\n', 1, 1, ['a\n'], undefined],
    ['the middle', 'a\nb\nc\nd\n', 2, 2, ['b\n', 'c\n'], undefined],
    ['the end', 'a\nb\nc\n', 3, 9, ['c\n'], 3],
    ['no final newline', 'a\nb', 1, 9, ['a\n', 'b'], 2],
    ['only a line without newline', 'a', 1, 9, ['a'], 1],
    ['an empty file', '', 1, 9, [], 0],
    ['empty lines', '\n\n\n', 2, 2, ['\n', '\n'], 3],
    ['CRLF', 'a\r\nb\r\n', 1, 9, ['a\r\n', 'b\r\n'], 2],
    ['a lone CR, which is no ending', 'a\rb\nc', 1, 9, ['a\rb\n', 'c'], 2],
    ['past the end', 'a\nb\n', 5, 9, [], 2],
    ['exactly to the end', 'a\nb\n', 1, 2, ['a\n', 'b\n'], 2],
    ['no lines', 'a\nb\n', 1, 0, [], undefined],
  ])('returns %s of %j from %i, %i lines', async (_what, text, from, limit, lines, totalLines) => {
    const disk = bench([]);
    writeFileSync(join(disk.root, 'f'), text);
    const read = await page(disk, { from, limit });
    expect(linesOf(read)).toEqual(lines);
    expect(read).toMatchObject({ from, totalLines, cut: [], sizeBytes: text.length });
    expect(read.sha256).toBe(createHash('sha256').update(lines.join('')).digest('hex'));
  });

  it('keeps only the beginning of a very long line, reports it, and hashes all of it', async () => {
    const disk = bench([]);
    const giant = `${'x'.repeat(3_000_000)}\n`;
    writeFileSync(join(disk.root, 'f'), `a\n${giant}b\n`);
    const read = await page(disk, { maxLineBytes: 10 });
    expect(linesOf(read)).toEqual(['a\n', 'x'.repeat(10), 'b\n']);
    expect(read.cut).toEqual([{ line: 2, missingChars: 2_999_990 }]);
    expect(read.sha256).toBe(createHash('sha256').update(`a\n${giant}b\n`).digest('hex'));
  });

  it.each([
    ['is cut', 3, ['abc'], [{ line: 1, missingChars: 1 }]],
    ['is cut before its ending', 4, ['abcd'], [{ line: 1, missingChars: 0 }]],
    ['is kept whole', 5, ['abcd\n'], []],
  ])('a line near the limit %s', async (_what, maxLineBytes, lines, cut) => {
    const disk = bench(['f: abcd\n']);
    const read = await page(disk, { maxLineBytes });
    expect(linesOf(read)).toEqual(lines);
    expect(read.cut).toEqual(cut);
  });

  it('says where the next page starts, and continues there without reading the lines before', async () => {
    const disk = bench([]);
    const text = Array.from({ length: 50_000 }, (_, index) => `line ${index + 1}\n`).join('');
    writeFileSync(join(disk.root, 'f'), text);
    const first = await page(disk, { from: 1, limit: 40_000 });
    expect(first.next).toEqual({ line: 40_001, byte: text.indexOf('line 40001') });
    let read = 0;
    const onProgress = (done: number): void => {
      read = done;
    };
    const second = await page(disk, { from: 40_001, limit: 2, start: first.next, onProgress });
    expect(linesOf(second)).toEqual(['line 40001\n', 'line 40002\n']);
    expect(read).toBeGreaterThan(first.next.byte);
    const later = await page(disk, { from: 45_000, limit: 1, start: first.next });
    expect(linesOf(later)).toEqual(['line 45000\n']);
  });

  it('reports progress up to the size', async () => {
    const disk = bench([]);
    writeFileSync(join(disk.root, 'f'), 'x\n'.repeat(500_000));
    const seen: number[] = [];
    await page(disk, { from: 999_999, onProgress: (done, total) => seen.push(done / total) });
    expect(seen.at(-1)).toBe(1);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });

  it('stops on abort', async () => {
    const disk = bench(['f: a\nb\n']);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(page(disk, { signal })).rejects.toThrow('enough');
  });

  it('is racy if the file changes meanwhile', async () => {
    const disk = bench([]);
    writeFileSync(join(disk.root, 'f'), 'x\n'.repeat(1_000_000));
    const reading = page(disk, { from: 1_000_000 });
    appendFileSync(join(disk.root, 'f'), 'more\n');
    expect(await reading).toMatchObject({ racy: true });
  });

  it('refuses anything but a regular file', async () => {
    const disk = bench(['f/']);
    const request = { clock: disk.context.clock, from: 1, limit: 1, maxLineBytes: 1 };
    expect(await readPage(disk.place('f'), request)).toEqual({ problem: 'kind', kind: 'directory' });
    expect(await readPage(disk.place('gone'), request)).toEqual({ problem: 'missing' });
  });

  it('equals splitting the whole text, from the top and resumed at any earlier page', async () => {
    const disk = bench([]);
    // Some lines are as long as a read chunk, so that lines and endings fall on chunk boundaries.
    const long = fc.constantFrom(131_071, 131_072, 262_143, 262_144).map((count) => 'z'.repeat(count));
    const piece = fc.oneof(fc.constantFrom('\n', '\r\n', 'a', 'bc\n', ''), long);
    const texts = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
    const numbers = fc.record({ from: fc.integer({ min: 1, max: 6 }), limit: fc.nat(4), skip: fc.nat(4) });
    await fc.assert(
      fc.asyncProperty(texts, numbers, async (text, { from, limit, skip }) => {
        writeFileSync(join(disk.root, 'f'), text);
        const wide = { maxLineBytes: 10_000_000 };
        const top = await page(disk, { from, limit, ...wide });
        expect(shapeOf(linesOf(top))).toEqual(shapeOf(split(text).slice(from - 1, from - 1 + limit)));
        const before = await page(disk, { from: 1, limit: Math.min(skip, from - 1), ...wide });
        const resumed = await page(disk, { from, limit, start: before.next, ...wide });
        expect(shapeOf(linesOf(resumed))).toEqual(shapeOf(linesOf(top)));
        expect(resumed.next).toEqual(top.next);
        expect(resumed.totalLines).toBe(top.totalLines);
      }),
      { numRuns: 60 },
    );
  });
});

/**
 * The length and the last four characters of each line. This is enough to distinguish the lines of
 * the test above, and fast to compare.
 */
function shapeOf(lines: readonly string[]): string[] {
  return lines.map((line) => `${line.length} ${line.slice(-4)}`);
}
