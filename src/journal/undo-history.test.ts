import { describe, expect, it } from 'vitest';
import { ABSENT, changeEntry, delta, FOLDER, file, move, ROOT, readEntry } from '../../test/store/samples.ts';
import {
  history,
  inverses,
  key,
  LINK,
  lines,
  undone,
  unkept,
  type Wanted,
} from '../../test/store/undoing.ts';
import type { Delta } from '../model/delta.ts';
import type { NewChangeEntry } from '../model/entry.ts';
import { openMemoryStore } from '../store/sqlite/sqlite-store.ts';
import type { Store } from '../store/store.ts';
import {
  entriesForUndo,
  selectChanges,
  UndoHistory,
  type UndoTarget,
  undoneBy,
  wholeCourse,
  withoutPaths,
} from './undo-history.ts';

const moved = (from: string, to: string): Delta[] => [move(from, to, FOLDER)];
const undo = (changes: readonly string[], ...deltas: readonly Delta[]): Partial<NewChangeEntry> => ({
  action: 'undo',
  undone: { changes },
  deltas,
});

describe('each kind of change has inverse deltas, newest first', () => {
  it.each<[string, readonly Delta[], readonly string[]]>([
    ['create', [delta('a', ABSENT, unkept('x'))], ['a: x 644 -> absent']],
    [
      'create with new folders',
      [delta('d', ABSENT, FOLDER), delta('d/e', ABSENT, FOLDER), delta('d/e/a', ABSENT, unkept('x'))],
      ['d/e/a: x 644 -> absent', 'd/e: directory -> absent', 'd: directory -> absent'],
    ],
    [
      'edit, with the earlier mode',
      [delta('a', file('x', { mode: 0o755 }), file('y', { mode: 0o755 }))],
      ['a: y 755 -> x 755'],
    ],
    ['a change of mode alone', [delta('a', file('x'), file('x', { mode: 0o755 }))], ['a: x 755 -> x 644']],
    ['delete', [delta('a', file('x'), ABSENT)], ['a: absent -> x 644']],
    ['delete of a link', [delta('l', LINK, ABSENT)], ['l: absent -> => ../x']],
    [
      'recursive delete',
      [delta('d/e', file('x'), ABSENT), delta('d/l', LINK, ABSENT), delta('d', FOLDER, ABSENT)],
      ['d: absent -> directory', 'd/l: absent -> => ../x', 'd/e: absent -> x 644'],
    ],
    [
      'move of a file, whose bytes are only at the destination',
      [move('a', 'b', unkept('x'))],
      ['a: absent -> x 644 from b'],
    ],
    [
      'move over a file',
      [move('a', 'b', unkept('x'), file('y'))],
      ['a: absent -> x 644 from b', 'b: absent -> y 644'],
    ],
    [
      'a destination with other bytes than the source had',
      [{ ...delta('b', ABSENT, file('y')), movedFrom: { key: key('a'), relative: 'a', was: file('x') } }],
      ['b: y 644 -> absent', 'a: absent -> x 644'],
    ],
    ['move of a folder, whose contents are not listed', moved('d', 'f'), ['d: absent -> directory from f']],
    [
      'a folder that replaced a file',
      [delta('p', file('x'), ABSENT), delta('p', ABSENT, FOLDER), delta('p/q', ABSENT, unkept('y'))],
      ['p/q: y 644 -> absent', 'p: directory -> absent', 'p: absent -> x 644'],
    ],
  ])('%s', (_what, deltas, expected) => {
    expect(inverses(history(deltas), { kind: 'change', change: 'c1' })).toEqual(expected);
    expect(undone(history(deltas), { kind: 'change', change: 'c1' })).toEqual({ changes: ['c1'] });
  });
});

describe('a target selects', () => {
  const entries = history(
    { deltas: [delta('a', file('1'), file('2'))], session: 's' },
    { deltas: [delta('b', file('1'), file('2'))], session: 't' },
    { deltas: [delta('a', file('2'), file('3')), delta('c', file('1'), file('2'))], session: 's' },
    { deltas: [delta('d', ABSENT, file('1'))], session: 't', root: '/elsewhere' },
  );

  it.each<[string, Wanted, readonly string[], readonly string[]]>([
    ['the last change of any session', { kind: 'last' }, ['c: 2 644 -> 1 644', 'a: 3 644 -> 2 644'], ['c3']],
    ['the last change of a session', { kind: 'last', session: 't' }, ['b: 2 644 -> 1 644'], ['c2']],
    ['the last change of a file', { kind: 'last', key: key('b') }, ['b: 2 644 -> 1 644'], ['c2']],
    ['one file of a batch', { kind: 'last', key: key('c') }, ['c: 2 644 -> 1 644'], ['c3']],
    ['one file of a change', { kind: 'change', change: 'c3', key: key('a') }, ['a: 3 644 -> 2 644'], ['c3']],
    [
      'all changes of a session',
      { kind: 'all', session: 's' },
      ['c: 2 644 -> 1 644', 'a: 3 644 -> 2 644', 'a: 2 644 -> 1 644'],
      ['c3', 'c1'],
    ],
    [
      'all changes of a file',
      { kind: 'all', key: key('a') },
      ['a: 3 644 -> 2 644', 'a: 2 644 -> 1 644'],
      ['c3', 'c1'],
    ],
    [
      'all changes since a time',
      { kind: 'all', sinceMs: 20 },
      ['c: 2 644 -> 1 644', 'a: 3 644 -> 2 644', 'b: 2 644 -> 1 644'],
      ['c3', 'c2'],
    ],
    ['no unknown change', { kind: 'change', change: 'c9' }, [], []],
    ['no change of another workspace', { kind: 'change', change: 'c4' }, [], []],
    ['no file that a change did not touch', { kind: 'change', change: 'c1', key: key('b') }, [], []],
    ['nothing of a session that did nothing', { kind: 'last', session: 'u' }, [], []],
    ['nothing after the last change', { kind: 'all', sinceMs: 99 }, [], []],
  ])('%s', (_what, target, expected, changes) => {
    expect(inverses(entries, target)).toEqual(expected);
    expect(undone(entries, target).changes).toEqual(changes);
  });

  it('part of a change, which is recorded as a part', () => {
    expect(undone(entries, { kind: 'last', key: key('c') }).keys).toEqual([key('c')]);
    expect(undone(entries, { kind: 'last', key: key('b') }).keys).toBeUndefined();
  });

  it('with a file of a batch, the other end of its move and the folders made for it alone', () => {
    const batch = history([move('a', 'b', unkept('x')), delta('c', file('1'), file('2'))]);
    expect(inverses(batch, { kind: 'last', key: key('b') })).toEqual(['a: absent -> x 644 from b']);
    const made = history([delta('d', ABSENT, FOLDER), delta('d/a', ABSENT, unkept('x'))]);
    expect(inverses(made, { kind: 'last', key: key('d/a') })).toHaveLength(2);
  });

  it('with a file of a deleted folder, the folders that contain it; with a folder, its contents', () => {
    const deleted = history([
      delta('d/e/a', file('x'), ABSENT),
      delta('d/e', FOLDER, ABSENT),
      delta('d/b', file('y'), ABSENT),
      delta('d', FOLDER, ABSENT),
    ]);
    expect(inverses(deleted, { kind: 'last', key: key('d/b') })).toEqual([
      'd: absent -> directory',
      'd/b: absent -> y 644',
    ]);
    expect(inverses(deleted, { kind: 'last', key: key('d/e') })).toEqual([
      'd: absent -> directory',
      'd/e: absent -> directory',
      'd/e/a: absent -> x 644',
    ]);
  });

  it('no paths that are left out, and of a move neither end', () => {
    const known = new UndoHistory(history([move('a', 'b', unkept('x')), delta('c', file('1'), file('2'))]));
    const all = selectChanges(known, { roots: [ROOT], kind: 'all' });
    expect(lines(known, withoutPaths(all, new Set([key('b')])))).toEqual(['c: 2 644 -> 1 644']);
  });
});

describe('folder moves that stay take along', () => {
  const created = delta('d/a', ABSENT, file('1'));
  it.each<[string, readonly Delta[], readonly (readonly Delta[])[], string]>([
    ['a changed file', [delta('d/a', file('1'), file('2'))], [moved('d', 'e')], 'e/a: 2 644 -> 1 644'],
    [
      'a file through several moves',
      [created],
      [moved('d', 'e'), moved('e', 'g/h')],
      'g/h/a: 1 644 -> absent',
    ],
    [
      'the place of a deleted file',
      [delta('d/a', file('1'), ABSENT)],
      [moved('d', 'e')],
      'e/a: absent -> 1 644',
    ],
    [
      'not the place of the folder itself',
      [delta('d', FOLDER, ABSENT)],
      [moved('d', 'e')],
      'd: absent -> directory',
    ],
    ['a moved folder', moved('d', 'e/f'), [moved('e', 'g')], 'd: absent -> directory from g/f'],
    [
      'not what was at a path before the folder came',
      [created],
      [moved('x', 'd'), moved('d', 'y')],
      'd/a: 1 644 -> absent',
    ],
  ])('%s', (_what, mine, moves, expected) => {
    const entries = history(
      { deltas: mine, session: 's' },
      ...moves.map((deltas) => ({ deltas, session: 't' })),
    );
    expect(inverses(entries, { kind: 'all', session: 's' })).toEqual([expected]);
  });

  it('nothing if the move is taken back too', () => {
    const entries = history([delta('d/a', file('1'), file('2'))], moved('d', 'f'), [
      delta('f/a', file('2'), file('3')),
    ]);
    expect(inverses(entries, { kind: 'all' })).toEqual([
      'f/a: 3 644 -> 2 644',
      'd: absent -> directory from f',
      'd/a: 2 644 -> 1 644',
    ]);
  });
});

describe('undo and redo', () => {
  const edits = [[delta('a', file('1'), file('2'))], [delta('a', file('2'), file('3'))]];
  const undoOf = (change: string, before: string, after: string): Partial<NewChangeEntry> => ({
    action: 'undo',
    undoes: change,
    deltas: [delta('a', file(before), file(after))],
  });

  it('a second undo undoes the next older change', () => {
    const once = history(...edits, undoOf('c2', '3', '2'));
    expect(undone(once, { kind: 'last' }).changes).toEqual(['c1']);
    const twice = history(...edits, undoOf('c2', '3', '2'), undoOf('c1', '2', '1'));
    expect(undone(twice, { kind: 'last' }).changes).toEqual([]);
    expect(undone(twice, { kind: 'change', change: 'c1' }).changes).toEqual([]);
  });

  it('an undo can be undone by its id', () => {
    const once = history(...edits, undoOf('c2', '3', '2'));
    expect(inverses(once, { kind: 'change', change: 'c3' })).toEqual(['a: 2 644 -> 3 644']);
  });

  it('a redone change is in delta again, and is the next to be undone', () => {
    const redone = history(...edits, undoOf('c2', '3', '2'), undoOf('c3', '2', '3'));
    expect(undone(redone, { kind: 'last' }).changes).toEqual(['c2']);
    expect(undone(redone, { kind: 'all' }).changes).toEqual(['c2', 'c1']);
  });

  it('an undo of one file of a batch leaves the rest to be undone', () => {
    const batch = [delta('a', file('1'), file('2')), delta('b', file('1'), file('2'))];
    const part = { changes: ['c1'], keys: [key('a')] };
    const entries = history(batch, { deltas: [delta('a', file('2'), file('1'))], undone: part });
    expect(inverses(entries, { kind: 'last' })).toEqual(['b: 2 644 -> 1 644']);
    expect(inverses(entries, { kind: 'last', key: key('a') })).toEqual([]);
  });

  it('a file of a batch is in delta again if its own undo is undone, even after an undo of the rest', () => {
    const batch = [delta('a', file('1'), file('2')), delta('b', file('1'), file('2'))];
    const first = {
      deltas: [delta('a', file('2'), file('1'))],
      undone: { changes: ['c1'], keys: [key('a')] },
    };
    const rest = undone(history(batch, first), { kind: 'change', change: 'c1' });
    expect(rest).toEqual({ changes: ['c1'], keys: [key('b')] });
    const second = { deltas: [delta('b', file('2'), file('1'))], undone: rest };
    const redo = { deltas: [delta('a', file('1'), file('2'))], undone: { changes: ['c2'] } };
    const entries = history(batch, first, second, redo);
    expect(inverses(entries, { kind: 'change', change: 'c1' })).toEqual(['a: 2 644 -> 1 644']);
  });

  it('a change without a net delta is skipped', () => {
    const idle = [delta('b', ABSENT, file('1')), delta('b', file('1'), ABSENT)];
    expect(undone(history(...edits, idle), { kind: 'last' }).changes).toEqual(['c2']);
  });
});

describe('the whole course of changes', () => {
  const MADE = [delta('k', ABSENT, FOLDER), delta('k/a', ABSENT, file('1'))];
  const gone = [delta('k/a', file('1'), ABSENT), delta('k', FOLDER, ABSENT)];
  const mine = [delta('b', file('1'), file('2'))];

  function courseOf(entries: ReturnType<typeof history>, session?: string): readonly string[] | undefined {
    const known = new UndoHistory(entries);
    const target = { roots: [ROOT], kind: 'all', ...(session === undefined ? {} : { session }) } as const;
    const course = wholeCourse(known, selectChanges(known, target), ROOT);
    return course?.map(({ entry }) => entry.change ?? '');
  }

  it.each<[string, ReturnType<typeof history>, string | undefined, readonly string[] | undefined]>([
    ['has the undos in between', history(MADE, mine, undo(['c1'], ...gone)), undefined, ['c3', 'c2', 'c1']],
    ['is not needed without an undo', history(MADE, mine), undefined, undefined],
    [
      'is not taken if another session has changed something',
      history({ deltas: mine, session: 't' }, MADE, undo(['c2'], ...gone), MADE),
      't',
      undefined,
    ],
    [
      'is not taken if a change of another session was undone and redone',
      history({ session: 't', deltas: MADE }, mine, undo(['c1'], ...gone), undo(['c3'], ...MADE)),
      'agent',
      undefined,
    ],
  ])('%s', (_what, entries, session, expected) => {
    expect(courseOf(entries, session)).toEqual(expected);
  });
});

describe('the entries that an undo needs', () => {
  /**
   * 500 changes that alternate between two sessions, with a read after each. Changes 250 and 251
   * belong to a third session, `rare`.
   */
  async function longJournal(): Promise<Store> {
    const store = await openMemoryStore();
    for (let i = 0; i < 500; i++) {
      const session = i === 250 || i === 251 ? 'rare' : `s${i % 2}`;
      const path = session === 'rare' ? 'rare' : `f${i}`;
      const change = changeEntry(`c${i}`, [delta(path, file(`${i % 10}`), file(`${(i + 1) % 10}`))], {
        session,
        atMs: i,
      });
      await store.record({ entries: [change, readEntry({ atMs: i })] });
    }
    return store;
  }

  it.each<[Partial<UndoTarget> & { kind: string }, readonly string[]]>([
    [{ kind: 'last' }, ['c499']],
    [{ kind: 'last', session: 'rare' }, ['c251']],
    [{ kind: 'all', session: 'rare' }, ['c251', 'c250']],
    [{ kind: 'all', key: `${ROOT}/rare` }, ['c251', 'c250']],
    [{ kind: 'all', sinceMs: 497 }, ['c499', 'c498', 'c497']],
    [{ kind: 'change', change: 'c3' }, ['c3']],
    [{ kind: 'last', session: 'nobody' }, []],
    [{ kind: 'change', change: 'c1000' }, []],
  ])('for %j are found', async (wanted, expected) => {
    const store = await longJournal();
    const target = { roots: [ROOT], ...wanted } as UndoTarget;
    const known = new UndoHistory(await entriesForUndo(store, target));
    expect(undoneBy(known, selectChanges(known, target)).changes).toEqual(expected);
  });

  it('include later changes of other sessions and workspaces, because they may block the undo', async () => {
    const store = await longJournal();
    const late = changeEntry('late', [delta('rare', file('2'), file('3'))], { root: '/home', session: 'x' });
    await store.record({ entries: [late] });
    const found = await entriesForUndo(store, { roots: [ROOT], kind: 'last', session: 'rare' });
    expect(found.map(({ change }) => change)).toContain('late');
  });
});

describe('after the undo of a large change', () => {
  const LARGE: readonly Delta[] = Array.from({ length: 20_000 }, (_, number) =>
    delta(`f${number}`, file('x'), file('y')),
  );
  const back = LARGE.map((each) => ({ ...each, before: each.after, after: each.before }));

  it.each([
    ['an older change is found', 'c1', undo(['c2'], ...back)],
    [
      'the rest of the change is found',
      'c2',
      {
        ...undo(['c2'], ...back.slice(1)),
        undone: { changes: ['c2'], keys: LARGE.slice(1).map((each) => each.key) },
      },
    ],
  ])('%s', (_what, change, undoing) => {
    const entries = history([delta('a', file('x'), file('y'))], LARGE, undoing);
    expect(inverses(entries, { kind: 'change', change })).toHaveLength(1);
  });
});
