import { describe, expect, it } from 'vitest';
import { ABSENT, changeEntry, effect, file, pendingChange, ROOT } from '../../test/store/samples.ts';
import type { Effect, Side } from '../model/entry.ts';
import { MemoryStore } from '../store/memory.ts';
import { type RecoveredChange, recoverChanges } from './recovery.ts';

async function announced(effects: readonly Effect[], owner = 'dead'): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.record({ announce: pendingChange('c1', { owner, entry: changeEntry('c1', effects) }) });
  return store;
}

function recover(
  store: MemoryStore,
  now: Readonly<Record<string, Side>>,
): Promise<readonly RecoveredChange[]> {
  return recoverChanges({
    store,
    isAlive: (owner) => owner === 'alive',
    sideOf: async (key) => {
      const side = now[key.slice(ROOT.length + 1)];
      if (side === undefined) throw new Error('cannot look');
      return side;
    },
    now: () => 777,
  });
}

const EDIT = effect('a', file('old'), file('new'));
const CREATE = effect('b', ABSENT, file('new'));
const CHMOD = effect('a', file('x'), file('x', { mode: 0o755 }));

describe('a change whose process died', () => {
  it.each<[string, readonly Effect[], Record<string, Side>, RecoveredChange['outcome'], readonly Effect[]]>([
    ['is done', [EDIT], { a: file('new') }, 'done', [EDIT]],
    ['is done, though the mode is another', [EDIT], { a: file('new', { mode: 0o600 }) }, 'done', [EDIT]],
    ['is not done', [EDIT], { a: file('old') }, 'not-done', []],
    ['is a creation, done', [CREATE], { b: file('new') }, 'done', [CREATE]],
    ['is a creation, not done', [CREATE], { b: ABSENT }, 'not-done', []],
    ['is half of a batch', [EDIT, CREATE], { a: file('new'), b: ABSENT }, 'partly', [EDIT]],
    ['has since been changed by someone', [EDIT], { a: file('third') }, 'done', [EDIT]],
    ['is a change of mode, done', [CHMOD], { a: file('x', { mode: 0o755 }) }, 'done', [CHMOD]],
    ['is a change of mode, not done', [CHMOD], { a: file('x') }, 'not-done', []],
  ])('%s', async (_what, effects, now, outcome, done) => {
    const store = await announced(effects);
    expect(await recover(store, now)).toEqual([{ change: 'c1', outcome, effects: done }]);
    expect(await store.pending()).toEqual([]);
    const entries = await store.entries({});
    expect(entries).toHaveLength(done.length === 0 ? 0 : 1);
    if (done.length > 0)
      expect(entries[0]).toMatchObject({
        kind: 'change',
        change: 'c1',
        recovered: true,
        atMs: 777,
        effects: done,
      });
  });

  it('stays announced while it cannot be looked at', async () => {
    const store = await announced([EDIT]);
    expect(await recover(store, {})).toMatchObject([{ outcome: 'unclear' }]);
    expect(await store.pending()).toHaveLength(1);
    expect(await recover(store, { a: file('new') })).toMatchObject([{ outcome: 'done' }]);
  });

  it('is left to its process while that lives', async () => {
    const store = await announced([EDIT], 'alive');
    expect(await recover(store, { a: file('new') })).toEqual([]);
    expect(await store.pending()).toHaveLength(1);
  });

  it('is recovered once, though two starts find it', async () => {
    const store = await announced([EDIT]);
    await Promise.all([recover(store, { a: file('new') }), recover(store, { a: file('new') })]);
    expect(await store.entries({})).toHaveLength(1);
  });
});
