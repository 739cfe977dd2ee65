import { describe, expect, it } from 'vitest';
import { changed, entry, fileState } from '../../../test/support/entries.ts';
import { feedRow, fileRows, fitsFeed } from './feed.ts';

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
    const other = { key: '/w/other.ts', relative: 'other.ts', before: fileState('a'), after: fileState('b') };
    const change = changed('src/gate.ts', ['1', '2'], { turn: 't1' });
    expect(fitsFeed({ ...change, deltas: [...change.deltas, other] }, filter)).toBe(fits);
  });

  it('says of a refusal in observe mode that the call passed, and does not count it as refused', () => {
    const refused = entry('refusal', { action: 'overwrite', path: 'a.ts', code: 'NOT_READ' });
    const observed = { ...refused, observed: true } as const;
    expect(feedRow(refused).what).toBe('refused overwrite');
    expect(feedRow(observed).what).toBe('would have refused overwrite (it passed)');
    expect(fileRows([observed, refused])).toMatchObject([{ path: 'a.ts', refusals: 1 }]);
  });

  it('lists files with the sessions that changed them', () => {
    const rows = fileRows([
      changed('a.ts', ['2', '3'], { seq: 4, atMs: 4, session: 'two' }),
      entry('refusal', { seq: 3, atMs: 3, path: 'b.ts', code: 'STALE' }),
      entry('refusal', { seq: 2, atMs: 2, path: '../outside', code: 'OUTSIDE_WORKSPACE' }),
      changed('a.ts', ['1', '2'], { seq: 1, atMs: 1, session: 'one' }),
    ]);
    expect(rows).toEqual([
      { root: '/w', path: 'a.ts', changes: 2, refusals: 0, lastMs: 4, writers: ['two', 'one'] },
      { root: '/w', path: 'b.ts', changes: 0, refusals: 1, lastMs: 3, writers: [] },
    ]);
  });

  it('lists a file of a change that reaches into a second root under that root', () => {
    const change = changed('a.ts', ['1', '2']);
    const other = { key: '/v/a.ts', relative: 'a.ts', before: fileState('1'), after: fileState('2') };
    const rows = fileRows([{ ...change, deltas: [...change.deltas, other] }]);
    expect(rows.map(({ root, path }) => [root, path])).toEqual([
      ['/w', 'a.ts'],
      ['/v', 'a.ts'],
    ]);
  });
});
