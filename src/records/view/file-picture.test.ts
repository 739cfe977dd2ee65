import { describe, expect, it, onTestFinished } from 'vitest';
import { desk, ok } from '../../../test/support/desk.ts';
import { parseLines } from '../line-ranges.ts';
import { Records } from '../records.ts';
import { Scope } from '../scope.ts';
import { carriedPicture, filePicture, linesBy } from './file-picture.ts';
import { seenWords } from './view-words.ts';

describe('the picture of a file', () => {
  it('converts the lines of changes to ranges', () => {
    expect(linesBy([-1, -1, 0, -1, 1, 1], new Set([0, 1]))).toEqual([
      { from: 3, to: 3 },
      { from: 5, to: 6 },
    ]);
  });

  it.each([
    ['no change', [{ from: 1, to: 3 }], 'a\nb\nc\n', [[1, 3]], []],
    [
      'a changed line',
      [{ from: 1, to: 3 }],
      'a\nB\nc\n',
      [
        [1, 1],
        [3, 3],
      ],
      [[2, 2]],
    ],
    ['a change outside the seen lines', [{ from: 3, to: 3 }], 'A\nb\nc\n', [[3, 3]], []],
    ['a removed line', [{ from: 1, to: 3 }], 'a\nc\n', [[1, 2]], [[2, 2]]],
    ['a removed last line', [{ from: 1, to: 3 }], 'a\nb\n', [[1, 2]], [[2, 2]]],
    ['everything removed', [{ from: 1, to: 3 }], '', [], [[1, 1]]],
  ])('maps seen lines to the present text after %s', (_what, seen, now, still, stale) => {
    const view = carriedPicture(seen, 'a\nb\nc\n', now);
    expect(view.seen.map(({ from, to }) => [from, to])).toEqual(still);
    expect(view.stale.map(({ from, to }) => [from, to])).toEqual(stale);
  });

  it.each([
    ['whole', [[1, 9]]],
    [
      '1-3,5-20',
      [
        [1, 3],
        [5, 9],
      ],
    ],
    ['7', [[7, 7]]],
    ['none', []],
    ['20-30', []],
  ])('parses the lines %s', (lines, ranges) => {
    expect(parseLines(lines, 9).map(({ from, to }) => [from, to])).toEqual(ranges);
  });

  it.each([
    ['whole', 'all lines'],
    ['3-3', 'line 3'],
    ['1-20,40-60', 'lines 1-20, 40-60'],
  ])('formats %s as "%s"', (lines, words) => {
    expect(seenWords(lines)).toBe(words);
  });

  it('says of a session that forgot the file whether it is closed', async () => {
    const t = await desk({ session: 'coder' });
    await t.put('a.txt', 'one\n');
    await ok(t.session.read('a.txt'));
    await t.session.forget();
    const records = await Records.open({ home: t.home, store: `sqlite:${t.home}/lookfirst.db` });
    onTestFinished(() => records.close());
    const words = async (): Promise<readonly string[]> => {
      const sources = { records, scope: new Scope({ cwd: t.root }), secrets: 'mask' } as const;
      const { strips } = await filePicture(sources, { root: t.root, path: 'a.txt' });
      return strips.map((strip) => strip.words);
    };
    expect(await words()).toEqual(['read the current version, and no longer knows it']);
    await t.put('a.txt', 'two\n');
    expect(await words()).toEqual(['read an earlier version, and no longer knows it']);
    await t.session.close();
    expect(await words()).toEqual(['read an earlier version, and is closed']);
  });
});
