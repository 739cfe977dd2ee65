import { describe, expect, it } from 'vitest';
import { diffGroups, wordMarks } from './hunks.ts';

describe('a diff', () => {
  const lines = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i + 1}`);
  const text = (all: readonly string[]): string => all.map((line) => `${line}\n`).join('');

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
    expect(diff).toMatchObject({ added: 200_000, cut: 198_000 });
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
    ['nothing in a completely different line', 'completely other', 'nothing in common!', undefined],
    ['nothing if there is no other line', 'a', undefined, undefined],
  ])('marks %s', (_what, old, fresh, marks) => {
    expect(wordMarks(old, fresh)).toEqual(marks);
  });

  it('is limited in size', () => {
    const diff = diffGroups('', text(lines(5000)));
    expect(diff).toMatchObject({ added: 5000, cut: 3000 });
    expect(diff.groups.flat()).toHaveLength(2000);
  });

  it('counts the rows that it leaves out, of one group and of several', () => {
    const before = lines(9000);
    const every = (step: number): string =>
      text(before.map((line, i) => (i % step === 0 ? `${line}!` : line)));
    expect(diffGroups(text(before), every(2)).cut).toBe(9000 + 4500 - 2000);
    // Each group has a removed line, an added line and three unchanged lines on either side. Only
    // the first group has no unchanged lines before it.
    expect(diffGroups(text(before), every(10)).cut).toBe(900 * 8 - 3 - 2000);
  });
});
