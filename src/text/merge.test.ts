import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rounds } from '../../test/support/rounds.ts';
import { merge3 } from './merge.ts';

const hasGit = spawnSync('git', ['--version']).status === 0;

/** Each run starts git, so the ordinary test makes fewer runs than `npm run attack`. */
const RUNS = rounds(40, 400);

describe('merge3', () => {
  it.each([
    ['changes apart', 'a\nb\nc\nd\n', 'A\nb\nc\nd\n', 'a\nb\nc\nD\n', 'A\nb\nc\nD\n'],
    ['one side only', 'a\n', 'b\n', 'a\n', 'b\n'],
    ['the other side only', 'a\n', 'a\n', 'b\n', 'b\n'],
    ['the same change twice', 'a\nb\n', 'X\nb\n', 'X\nb\n', 'X\nb\n'],
    ['an insertion and a deletion apart', 'a\nb\nc\nd\n', 'a\nb\nc\nd\ne\n', 'b\nc\nd\n', 'b\nc\nd\ne\n'],
    ['a missing final newline', 'a\nb\nc', 'X\nb\nc', 'a\nb\nY', 'X\nb\nY'],
    ['CRLF', 'a\r\nb\r\nc\r\n', 'X\r\nb\r\nc\r\n', 'a\r\nb\r\nY\r\n', 'X\r\nb\r\nY\r\n'],
  ])('merges %s', (_what, base, ours, theirs, expected) => {
    expect(merge3(base, ours, theirs)).toEqual({ clean: true, text: expected });
  });

  it.each([
    ['the same line', 'a\n', 'b\n', 'c\n', '<<<<<<< ours\nb\n||||||| base\na\n=======\nc\n>>>>>>> theirs\n'],
    [
      'touching lines',
      'a\nb\n',
      'X\nb\n',
      'a\nY\n',
      '<<<<<<< ours\nX\nb\n||||||| base\na\nb\n=======\na\nY\n>>>>>>> theirs\n',
    ],
    [
      'a change and a deletion',
      'a\n',
      'b\n',
      '',
      '<<<<<<< ours\nb\n||||||| base\na\n=======\n>>>>>>> theirs\n',
    ],
    [
      'lines without newline',
      'a',
      'b',
      'c',
      '<<<<<<< ours\nb\n||||||| base\na\n=======\nc\n>>>>>>> theirs\n',
    ],
    [
      'CRLF',
      'a\r\n',
      'b\r\n',
      'c\r\n',
      '<<<<<<< ours\r\nb\r\n||||||| base\r\na\r\n=======\r\nc\r\n>>>>>>> theirs\r\n',
    ],
  ])('marks a conflict over %s', (_what, base, ours, theirs, text) => {
    expect(merge3(base, ours, theirs)).toEqual({ clean: false, text });
  });

  it('marks conflicts and merges the rest', () => {
    const merged = merge3('a\nb\nc\nd\ne\n', 'A\nb\nC\nd\ne\n', 'X\nb\nc\nd\nE\n');
    expect(merged).toMatchObject({ clean: false });
    expect(merged.text).toMatch(/>>>>>>> theirs\nb\nC\nd\nE\n$/);
  });

  it('merges files of very many lines', () => {
    const base = 'line\n'.repeat(300_000);
    expect(merge3(base, `A\n${base}`, `${base}B\n`)).toEqual({ clean: true, text: `A\n${base}B\n` });
  });

  it('is fast on long repetitive files', () => {
    const rows = Array.from(
      { length: 5000 },
      (_, i) => `${['{', '}', '  x', ''][(Math.imul(i, 2_654_435_761) >>> 16) % 4]}\n`,
    );
    const merged = merge3(rows.join(''), rows.toReversed().join(''), rows.slice(9).join(''));
    expect(merged.clean).toBe(false);
    expect(
      merge3(rows.join(''), rows.toReversed().join(''), rows.slice(9).join(''), { maxCost: 100 }).clean,
    ).toBe(false);
  });
});

describe.skipIf(!hasGit)('merge3 beside git merge-file (skipped where git is not installed)', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'merge-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function gitMerge(base: string, ours: string, theirs: string): { clean: boolean; text: string } {
    const texts = { ours, base, theirs };
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
    const labels = ['ours', 'base', 'theirs'].flatMap((label) => ['-L', label]);
    const args = ['merge-file', '-p', '--diff3', ...labels, 'ours', 'base', 'theirs'];
    const result = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
    return { clean: result.status === 0, text: result.stdout };
  }

  it('gives the same text on random triples whenever both are clean', () => {
    const line = fc.constantFrom('alpha', 'beta', '', '}', '{', '  x', 'y', ...Array.from('0123456789'));
    const cut = fc.tuple(fc.nat(40), fc.nat(2), fc.array(line, { maxLength: 2 }));
    const cuts = fc.array(cut, { maxLength: 3 });
    const final = fc.constantFrom('\n', '\n', '');
    const changed = (
      rows: readonly string[],
      all: readonly (readonly [number, number, string[]])[],
    ): string[] => {
      const copy = [...rows];
      for (const [at, count, put] of all) copy.splice(at % (copy.length + 1), count, ...put);
      return copy;
    };
    const written = (rows: readonly string[], end: string): string =>
      rows.length === 0 ? '' : rows.join('\n') + end;
    const triple = fc
      .tuple(fc.array(line, { minLength: 1, maxLength: 30 }), cuts, cuts, final)
      .map(([rows, a, b, end]) =>
        [rows, changed(rows, a), changed(rows, b)].map((some) => written(some, end)),
      );
    let clean = 0;
    let runs = 0;
    for (const [base = '', ours = '', theirs = ''] of fc.sample(triple, { numRuns: RUNS, seed: 42 })) {
      const mine = merge3(base, ours, theirs);
      const git = gitMerge(base, ours, theirs);
      runs += 1;
      if (!mine.clean || !git.clean) continue;
      clean += 1;
      expect({ base, ours, theirs, text: mine.text }).toEqual({ base, ours, theirs, text: git.text });
    }
    expect(runs).toBe(RUNS);
    expect(clean).toBeGreaterThan(RUNS * 0.37);
  });
});
