import { describe, expect, it } from 'vitest';
import { maskedDiff } from '../../text/unified.ts';
import { numberedRows, wordMarks } from './hunks.ts';

describe('a diff', () => {
  const lines = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i + 1}`);
  const text = (all: readonly string[]): string => all.map((line) => `${line}\n`).join('');

  const diffGroups = (before: string, after: string, path = 'a.txt'): ReturnType<typeof numberedRows> =>
    numberedRows(maskedDiff(before, after, { maxLines: 2000, maxLineChars: 2000, secrets: 'mask', path }));

  it('numbers rows on both sides and groups hunks with their context', () => {
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

  it('of a new file with very many lines is cut', () => {
    const diff = diffGroups('', text(lines(200_000)));
    expect(diff).toMatchObject({ added: 200_000, cut: 198_001 });
    expect(diff.groups.flat()).toHaveLength(1999);
  });

  it('keeps the number of a hunk after a hunk whose only difference is masked', () => {
    const end = '2\n3\n4\n5\n6\n7\n8\n';
    const diff = diffGroups(`KEY=one111111\n${end}END=1\n`, `KEY=two111111\n${end}#END\n`, '.env');
    const rows = diff.groups.flat();
    expect(rows.map(({ text: row }) => row).join()).not.toMatch(/one|two/);
    expect(rows.filter(({ sign }) => sign !== ' ').map(({ hunk }) => hunk)).toEqual([1, 1]);
  });

  it.each([
    ['a word', 'const a = one;', 'const a = two;', [[[10, 13]], [[10, 13]]]],
    ['an added word', 'call(a)', 'call(a, b)', [[], [[6, 9]]]],
    ['nothing in a completely different line', 'completely other', 'nothing in common!', undefined],
  ])('marks %s', (_what, old, fresh, marks) => {
    expect(wordMarks(old, fresh)).toEqual(marks);
  });
});
