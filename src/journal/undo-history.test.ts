import { describe, expect, it } from 'vitest';
import { changeEntry, effect, file, ROOT, readEntry } from '../../test/store/samples.ts';
import { openMemoryStore } from '../store/sqlite/sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { entriesForUndo, type UndoTarget } from './undo-history.ts';
import { planUndo } from './undo-plan.ts';

/**
 * 500 changes that alternate between two sessions, with a read after each. Changes 250 and 251
 * belong to a third session, `rare`.
 */
async function longJournal(): Promise<Store> {
  const store = await openMemoryStore();
  for (let i = 0; i < 500; i++) {
    const session = i === 250 || i === 251 ? 'rare' : `s${i % 2}`;
    const path = session === 'rare' ? 'rare' : `f${i}`;
    const change = changeEntry(`c${i}`, [effect(path, file(`${i % 10}`), file(`${(i + 1) % 10}`))], {
      session,
      atMs: i,
    });
    await store.record({ entries: [change, readEntry({ atMs: i })] });
  }
  return store;
}

describe('entriesForUndo', () => {
  it.each<[Partial<UndoTarget> & { kind: string }, readonly string[]]>([
    [{ kind: 'last' }, ['c499']],
    [{ kind: 'last', session: 'rare' }, ['c251']],
    [{ kind: 'all', session: 'rare' }, ['c251', 'c250']],
    [{ kind: 'all', key: `${ROOT}/rare` }, ['c251', 'c250']],
    [{ kind: 'all', sinceMs: 497 }, ['c499', 'c498', 'c497']],
    [{ kind: 'change', change: 'c3' }, ['c3']],
    [{ kind: 'last', session: 'nobody' }, []],
    [{ kind: 'change', change: 'c1000' }, []],
  ])('finds the entries that %j needs', async (wanted, expected) => {
    const store = await longJournal();
    const target = { root: ROOT, ...wanted } as UndoTarget;
    const outcome = planUndo(await entriesForUndo(store, target), target);
    expect(outcome.ok ? outcome.plan.undone.changes : []).toEqual(expected);
  });

  it('includes later changes, because they may block the undo', async () => {
    const store = await longJournal();
    await store.record({
      entries: [changeEntry('late', [effect('rare', file('2'), file('3'))], { root: '/home', session: 'x' })],
    });
    const target = { root: ROOT, kind: 'last', session: 'rare' } as const;
    expect(planUndo(await entriesForUndo(store, target), target)).toMatchObject({
      refusal: { code: 'STALE', detail: { writer: { session: 'x' } } },
    });
  });
});
