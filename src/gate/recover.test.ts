import { describe, expect, it } from 'vitest';
import {
  ABSENT,
  changeEntry,
  delta,
  FOLDER,
  file,
  move,
  pendingChange,
  ROOT,
} from '../../test/store/samples.ts';
import type { Delta, State } from '../model/delta.ts';
import type { PendingChange } from '../model/entry.ts';
import { openMemoryStore } from '../store/sqlite/sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { recoverChange } from './recover.ts';

type Recovering = Parameters<typeof recoverChange>[0];

const LINK: State = { kind: 'link', target: 'a' };
const EDIT = delta('a', file('old'), file('new'));
const CREATE = delta('b', ABSENT, file('new'));
const CHMOD = delta('a', file('x'), file('x', { mode: 0o755 }));
const IDLE = delta('i', file('i'), file('i'));
const MAKE = delta('d', ABSENT, FOLDER);
const INSIDE = delta('d/f', ABSENT, file('new'));
const TURN = delta('l', file('old'), LINK);
const MOVE = move('a', 'm', file('old'), file('there'));

type Tree = Record<string, State>;

interface Announced {
  readonly store: Store;
  readonly pending: PendingChange;
}

async function announced(deltas: readonly Delta[], more: Partial<PendingChange> = {}): Promise<Announced> {
  const store = await openMemoryStore();
  const entry = changeEntry('c1', deltas);
  const pending = pendingChange('c1', { owner: 'dead', entry, locked: [`${ROOT}/a`], ...more });
  await store.record({ announce: pending });
  return { store, pending };
}

/**
 * Runs recovery on `tree`, which takes the place of the disk. Taking a delta back changes `tree`,
 * except for the names in `stuck`.
 */
function recover({ store, pending }: Announced, tree: Tree, stuck: readonly string[] = []): Promise<void> {
  const nameOf = (key: string): string => key.slice(ROOT.length + 1);
  return recoverChange(
    {
      store,
      sideOf: async (key) => {
        const side = tree[nameOf(key)];
        if (side === undefined) throw new Error('cannot look');
        return side;
      },
      takeBack: async (begun: Parameters<Recovering['takeBack']>[0]) => {
        for (const { delta, current } of begun) {
          expect(tree[nameOf(delta.key)]).toEqual(current);
          if (!stuck.includes(nameOf(delta.key))) tree[nameOf(delta.key)] = delta.before;
        }
      },
      now: () => 777,
    },
    pending,
  );
}

type Row = readonly [string, readonly Delta[], Tree, readonly Delta[], Tree?];

const ROWS: readonly Row[] = [
  ['is recorded if the file has the new bytes', [EDIT], { a: file('new') }, [EDIT]],
  [
    'is recorded if the file has the new bytes and another mode',
    [EDIT],
    { a: file('new', { mode: 0o600 }) },
    [EDIT],
  ],
  ['is dropped if the file is unchanged', [EDIT], { a: file('old') }, []],
  ['is recorded if the file was created', [CREATE], { b: file('new') }, [CREATE]],
  ['is dropped if the file was not created', [CREATE], { b: ABSENT }, []],
  ['is recorded if another program has changed the file since', [EDIT], { a: file('third') }, [EDIT]],
  ['is recorded if another program has deleted the file since', [EDIT], { a: ABSENT }, [EDIT]],
  ['is recorded if the mode was changed', [CHMOD], { a: file('x', { mode: 0o755 }) }, [CHMOD]],
  ['is dropped if the mode is unchanged', [CHMOD], { a: file('x') }, []],
  [
    'is recorded without the deltas that changed nothing',
    [EDIT, IDLE],
    { a: file('new'), i: file('i') },
    [EDIT],
  ],
];

/** Changes that were only begun: recovery reverts them. */
const BEGUN: readonly Row[] = [
  [
    'is reverted if half of a batch was done',
    [EDIT, CREATE],
    { a: file('new'), b: ABSENT },
    [],
    { a: file('old'), b: ABSENT },
  ],
  [
    'is reverted if only the folder for a new file was made',
    [MAKE, INSIDE],
    { d: FOLDER, 'd/f': ABSENT },
    [],
    { d: ABSENT, 'd/f': ABSENT },
  ],
  [
    'is reverted if a file was removed to make room for a link',
    [TURN],
    { l: ABSENT },
    [],
    { l: file('old') },
  ],
  [
    'is reverted if a file was removed to make room for a moved file',
    [MOVE],
    { a: file('old'), m: ABSENT },
    [],
    { a: file('old'), m: file('there') },
  ],
  [
    'is reverted if a moved file has both names',
    [MOVE],
    { a: file('old'), m: file('old') },
    [],
    { a: file('old'), m: file('there') },
  ],
];

describe('a change whose process died', () => {
  for (const [what, deltas, tree, done, after = tree] of [...ROWS, ...BEGUN]) {
    it(what, async () => {
      const change = await announced(deltas);
      await recover(change, tree);
      expect(tree).toEqual(after);
      expect(await change.store.pending()).toEqual([]);
      const entry = { kind: 'change', change: 'c1', recovered: true, atMs: 777, deltas: done };
      expect(await change.store.entries({})).toMatchObject(done.length === 0 ? [] : [entry]);
    });
  }

  it('is journalled as far as it could not be reverted', async () => {
    const change = await announced([EDIT, CREATE, delta('c', ABSENT, file('c'))]);
    const tree = { a: file('new'), b: file('new'), c: ABSENT };
    await recover(change, tree, ['a']);
    expect(await change.store.entries({})).toMatchObject([{ change: 'c1', deltas: [EDIT] }]);
    expect(await change.store.pending()).toEqual([]);
  });

  it('leaves a folder that other programs use by now, and does not record it as created', async () => {
    const change = await announced([MAKE, INSIDE]);
    await recover(change, { d: FOLDER, 'd/f': ABSENT }, ['d']);
    expect(await change.store.entries({})).toEqual([]);
    expect(await change.store.pending()).toEqual([]);
  });

  it('that is an undo lists only the restored keys as undone', async () => {
    const undone = { changes: ['c0'] };
    const entry = changeEntry('c1', [EDIT, CREATE], { undone });
    const change = await announced([EDIT, CREATE], { entry });
    await recover(change, { a: file('new'), b: ABSENT }, ['a']);
    expect(await change.store.entries({})).toMatchObject([
      { undone: { changes: ['c0'], keys: [`${ROOT}/a`] } },
    ]);
  });

  it('of another program is recorded with its real result, and never reverted', async () => {
    const same = [delta('a', file('old'), file('old')), delta('b', file('b'), file('b'))];
    const store = await openMemoryStore();
    const pending = pendingChange('c1', { owner: 'dead', entry: changeEntry('c1', same) });
    await store.record({ announce: pending });
    const tree = { a: file('theirs'), b: file('b') };
    await recover({ store, pending }, tree);
    expect(tree.a).toEqual(file('theirs'));
    const deltas = [delta('a', file('old'), file('theirs', { kept: false }))];
    expect(await store.entries({})).toMatchObject([{ deltas }]);
  });

  it('stays announced while its files cannot be read', async () => {
    const change = await announced([EDIT]);
    await recover(change, {});
    expect(await change.store.pending()).toHaveLength(1);
    expect(await change.store.entries({})).toEqual([]);
    await recover(change, { a: file('new') });
    expect(await change.store.pending()).toEqual([]);
    expect(await change.store.entries({})).toMatchObject([{ deltas: [EDIT] }]);
  });

  it('is recovered once, even if two starting processes find it', async () => {
    const change = await announced([EDIT]);
    await Promise.all([recover(change, { a: file('new') }), recover(change, { a: file('new') })]);
    expect(await change.store.entries({})).toHaveLength(1);
  });
});
