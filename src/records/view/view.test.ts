import { describe, expect, it } from 'vitest';
import type { Entry, Side } from '../../model/entry.ts';
import { falseAlarm, fileRows, fitsFeed, numbersOf } from './feed.ts';
import { carriedPicture, linesBy, parseLines } from './file-picture.ts';
import { diffGroups, wordMarks } from './hunks.ts';
import { durationWords, laneAxis } from './lanes.ts';
import { seenWords } from './view-words.ts';

const file = (sha256: string, size = 10): Side => ({
  kind: 'file',
  fingerprint: { sha256, size },
  mode: 0o644,
  kept: true,
});

function entry(fields: Partial<Entry>): Entry {
  return { seq: 1, hash: '', kind: 'change', atMs: 0, session: 'a', root: '/w', ...fields };
}

function changed(path: string, sides: readonly [string, string], fields: Partial<Entry> = {}): Entry {
  const [before, after] = sides;
  const effect = { key: `/w/${path}`, relative: path, before: file(before), after: file(after) };
  return entry({ path, effects: [effect], ...fields });
}

describe('the lanes', () => {
  it('draw work to scale and cut idle time', () => {
    const { at, cuts } = laneAxis([0, 1000, 2000, 2000 + 3_600_000, 3_603_000]);
    expect(at[0]).toBe(0);
    expect(at[4]).toBe(1);
    expect(cuts).toHaveLength(1);
    expect(cuts[0]?.ms).toBe(3_600_000);
    expect(cuts[0]?.at).toBeGreaterThan(at[2] ?? 1);
    expect(cuts[0]?.at).toBeLessThan(at[3] ?? 0);
  });

  it.each([
    ['nothing', [], []],
    ['one entry', [5], [0]],
    ['entries of one moment, beside each other', [5, 5, 5], [0, 0.5, 1]],
  ])('place %s', (_what, times, places) => {
    expect([...laneAxis(times).at]).toEqual(places);
  });

  it.each([
    [1000, '1 s'],
    [120_000, '2 min'],
    [7_200_000, '2 h'],
    [172_800_000, '2 days'],
  ])('say %i ms as %s', (ms, words) => {
    expect(durationWords(ms)).toBe(words);
  });
});

describe('a diff', () => {
  const lines = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i + 1}`);
  const text = (all: readonly string[]): string => all.map((line) => `${line}\n`).join('');

  it('numbers rows on both sides and groups hunks with their surroundings', () => {
    const before = lines(30);
    const after = [...before.slice(0, 4), 'x', ...before.slice(5, 20), 'y', 'z', ...before.slice(20)];
    const diff = diffGroups(text(before), text(after));
    expect(diff).toMatchObject({ added: 3, removed: 1, cut: 0 });
    expect(diff.groups).toHaveLength(2);
    expect(diff.groups[0]?.map(({ sign, before: a, after: b, hunk }) => [sign, a, b, hunk])).toEqual([
      [' ', 2, 2, undefined],
      [' ', 3, 3, undefined],
      [' ', 4, 4, undefined],
      ['-', 5, undefined, 0],
      ['+', undefined, 5, 0],
      [' ', 6, 6, undefined],
      [' ', 7, 7, undefined],
      [' ', 8, 8, undefined],
    ]);
    expect(diff.groups[1]?.filter(({ hunk }) => hunk === 1).map(({ after: b }) => b)).toEqual([21, 22]);
  });

  it('keeps the numbers of hunks whose only difference is masked', () => {
    const diff = diffGroups(
      'KEY=one\n2\n3\n4\n5\n6\n7\n8\nend\n',
      'KEY=two\n2\n3\n4\n5\n6\n7\n8\nEND\n',
      (all) => all.replace(/KEY=.*/, 'KEY=[masked]'),
    );
    expect(diff.groups.flat().map(({ text: row }) => row)).not.toContain('KEY=one');
    expect(diff.groups[1]?.find(({ sign }) => sign === '+')).toMatchObject({ text: 'END', hunk: 1 });
  });

  it.each([
    ['a word', 'const a = one;', 'const a = two;', [[[10, 13]], [[10, 13]]]],
    ['an added word', 'call(a)', 'call(a, b)', [[], [[6, 9]]]],
    ['another line', 'completely other', 'nothing in common!', undefined],
    ['no line', 'a', undefined, undefined],
  ])('marks %s', (_what, old, fresh, marks) => {
    expect(wordMarks(old, fresh)).toEqual(marks);
  });

  it('is bounded', () => {
    const diff = diffGroups('', text(lines(5000)));
    expect(diff).toMatchObject({ added: 5000, cut: 3000 });
    expect(diff.groups.flat()).toHaveLength(2000);
  });
});

describe('the picture of a file', () => {
  it('gives the lines of some changes as ranges', () => {
    expect(linesBy([-1, -1, 0, -1, 1, 1], new Set([0, 1]))).toEqual([
      { from: 3, to: 3 },
      { from: 5, to: 6 },
    ]);
  });

  it.each([
    ['unchanged', [{ from: 1, to: 3 }], 'a\nb\nc\n', [[1, 3]], []],
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
    ['a change outside of what was seen', [{ from: 3, to: 3 }], 'A\nb\nc\n', [[3, 3]], []],
    ['a removed line', [{ from: 1, to: 3 }], 'a\nc\n', [[1, 2]], [[2, 2]]],
    ['a removed end', [{ from: 1, to: 3 }], 'a\nb\n', [[1, 2]], [[2, 2]]],
    ['everything removed', [{ from: 1, to: 3 }], '', [], [[1, 1]]],
  ])('carries a view over %s', (_what, seen, now, still, stale) => {
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
  ])('reads the lines %s', (lines, ranges) => {
    expect(parseLines(lines, 9).map(({ from, to }) => [from, to])).toEqual(ranges);
  });

  it.each([
    ['whole', 'all lines'],
    ['3-3', 'line 3'],
    ['1-20,40-60', 'lines 1-20, 40-60'],
  ])('says %s as "%s"', (lines, words) => {
    expect(seenWords(lines)).toBe(words);
  });
});

describe('the feed', () => {
  it.each([
    [{ path: 'GATE' }, true],
    [{ path: 'other' }, true],
    [{ path: 'nowhere' }, false],
    [{ code: 'STALE' }, false],
    [{ turn: 't1' }, true],
    [{ turn: 't2' }, false],
    [{}, true],
  ])('finds a change of two files by %j: %s', (filter, fits) => {
    const other = { key: '/w/other.ts', relative: 'other.ts', before: file('a'), after: file('b') };
    const change = changed('src/gate.ts', ['1', '2'], { turn: 't1' });
    expect(fitsFeed({ ...change, effects: [...(change.effects ?? []), other] }, filter)).toBe(fits);
  });

  it('lists files with who changed them', () => {
    const rows = fileRows([
      changed('a.ts', ['2', '3'], { seq: 4, atMs: 4, session: 'two' }),
      entry({ seq: 3, atMs: 3, kind: 'refusal', path: 'b.ts', code: 'STALE' }),
      entry({ seq: 2, atMs: 2, kind: 'refusal', path: '../outside', code: 'OUTSIDE_WORKSPACE' }),
      changed('a.ts', ['1', '2'], { seq: 1, atMs: 1, session: 'one' }),
    ]);
    expect(rows).toEqual([
      { root: '/w', path: 'a.ts', changes: 2, refusals: 0, lastMs: 4, writers: ['two', 'one'] },
      { root: '/w', path: 'b.ts', changes: 0, refusals: 1, lastMs: 3, writers: [] },
    ]);
  });
});

describe('a refusal', () => {
  const seen = { fingerprint: { sha256: 'old', size: 1 }, lines: 'whole', atMs: 0 };
  const refusal = (fields: Partial<Entry>): Entry => entry({ kind: 'refusal', path: 'a.ts', ...fields });

  it.each([
    ['the bytes were the same', { code: 'STALE', sha256: 'old', seen }, undefined, 'unchanged-bytes'],
    ['the bytes were others', { code: 'STALE', sha256: 'new', seen }, undefined, undefined],
    ['it was not about bytes', { code: 'NO_MATCH', sha256: 'old', seen }, undefined, undefined],
    [
      'the same was written after a read',
      { code: 'NOT_READ', sha256: 'now', content: 'mine' },
      changed('a.ts', ['now', 'mine'], { seq: 2 }),
      'same-content',
    ],
    [
      'something else was written',
      { code: 'NOT_READ', sha256: 'now', content: 'mine' },
      changed('a.ts', ['now', 'other'], { seq: 2 }),
      undefined,
    ],
    [
      'the file changed in between',
      { code: 'STALE', sha256: 'now', content: 'mine' },
      changed('a.ts', ['later', 'mine'], { seq: 2 }),
      undefined,
    ],
  ] satisfies [string, Partial<Entry>, Entry | undefined, string | undefined][])(
    'is a false alarm or not: %s',
    (_what, fields, next, alarm) => {
      expect(falseAlarm(refusal(fields), next)).toBe(alarm);
    },
  );

  it('is counted by code and day, with what diffs saved', () => {
    const day = 86_400_000;
    const numbers = numbersOf([
      refusal({ seq: 3, code: 'STALE', atMs: day, sha256: 'old', seen, sizeBytes: 900, diffBytes: 100 }),
      refusal({ seq: 1, code: 'NOT_READ', sha256: 'now', content: 'mine' }),
      changed('a.ts', ['now', 'mine'], { seq: 2 }),
      refusal({ seq: 4, code: 'STALE', atMs: day, sha256: 'x', seen }),
      changed('a.ts', ['1', '2'], { seq: 5, diffBytes: 5 }),
    ]);
    expect(numbers).toMatchObject({
      refusals: 3,
      byCode: [
        ['STALE', 2],
        ['NOT_READ', 1],
      ],
      byDay: [
        ['1970-01-01', 1],
        ['1970-01-02', 2],
      ],
      saved: { times: 2, diffBytes: 105, rereadBytes: 910 },
    });
    expect(numbers.falseAlarms.map(({ seq }) => seq)).toEqual([3, 1]);
  });
});
