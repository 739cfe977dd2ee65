import { describe, expect, it } from 'vitest';
import type { Entry, Side } from '../../model/entry.ts';
import { fileRows, fitsFeed } from './feed.ts';

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

  it('lists files with the sessions that changed them', () => {
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
