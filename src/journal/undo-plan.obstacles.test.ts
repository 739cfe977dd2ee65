import { describe, expect, it } from 'vitest';
import { ABSENT, effect, FOLDER, file, ROOT } from '../../test/store/samples.ts';
import { history, key, plan, steps, type Wanted } from '../../test/store/undoing.ts';
import type { NewEntry } from '../model/entry.ts';
import { planUndo } from './undo-plan.ts';

describe('a change in between', () => {
  const mine = { effects: [effect('a', file('1'), file('2'))], session: 's' };
  const theirs = { effects: [effect('a', file('2'), file('3'))], session: 't' };
  const again = { effects: [effect('a', file('3'), file('4'))], session: 's' };

  it.each<[string, readonly Partial<NewEntry>[], Wanted]>([
    ['after the selected one', [mine, theirs], { kind: 'last', session: 's' }],
    ['between two selected ones', [mine, theirs, again], { kind: 'all', session: 's' }],
  ])('%s makes the undo refuse, and is named with its session', (_what, changes, target) => {
    expect(planUndo(history(...changes), { root: ROOT, ...target })).toMatchObject({
      ok: false,
      refusal: {
        code: 'STALE',
        path: 'a',
        detail: { reason: expect.stringMatching(/change c2/), writer: { session: 't', atMs: 20 } },
      },
    });
  });

  it.each([
    [
      'the change before it',
      [
        ['1', '2'],
        ['1', '3'],
      ],
    ],
    [
      'the last of two changes before it',
      [
        ['1', '2'],
        ['2', '3'],
        ['2', '4'],
      ],
    ],
  ])('by an unknown program is no obstacle if it only reverted %s', (_what, changes) => {
    const entries = history(
      ...changes.map(([before = '', after = '']) => [effect('a', file(before), file(after))]),
    );
    const newest = changes.at(-1)?.[1];
    expect(steps(plan(entries, { kind: 'all' }))).toEqual([`a: ${newest} 644 -> 1 644`]);
  });

  it('by an unknown program makes the undo refuse too', () => {
    const entries = history([effect('a', file('1'), file('2'))], [effect('a', file('X'), file('3'))]);
    expect(planUndo(entries, { root: ROOT, kind: 'all' })).toMatchObject({
      ok: false,
      refusal: {
        code: 'STALE',
        detail: {
          reason: expect.stringMatching(/another program changed it between change c1 and change c2/),
        },
      },
    });
  });

  it('is kept with `merge`: one step per unbroken run of changes, and later steps are merged', () => {
    const undo = plan(history(mine, theirs, again), { kind: 'all', session: 's' }, { merge: true });
    expect(steps(undo)).toEqual(['a: 4 644 -> 3 644', 'a: 2 644 -> 1 644 (look nowhere)']);
  });

  it('that has already restored a folder does not block the undo', () => {
    const entries = history(
      { effects: [effect('d/a', file('x'), ABSENT), effect('d', FOLDER, ABSENT)], session: 's' },
      { effects: [effect('d', ABSENT, FOLDER)], session: 't' },
    );
    expect(steps(plan(entries, { kind: 'last', session: 's' }))).toHaveLength(2);
  });

  it('that removed a folder in the place of a deleted file blocks the undo, because the file is not restored', () => {
    const entries = history(
      { effects: [effect('p', file('x'), ABSENT)], session: 's' },
      { effects: [effect('p', ABSENT, FOLDER)], session: 's' },
      { effects: [effect('p', FOLDER, ABSENT)], session: 't' },
    );
    expect(planUndo(entries, { root: ROOT, kind: 'all', session: 's' })).toMatchObject({
      refusal: { code: 'STALE', path: 'p', detail: { writer: { session: 't' } } },
    });
  });

  it('of another file does not block the undo', () => {
    const other = { effects: [effect('b', file('2'), file('3'))], session: 't' };
    expect(steps(plan(history(mine, other), { kind: 'last', session: 's' }))).toHaveLength(1);
  });

  const folder = {
    effects: [{ ...effect('d', FOLDER, ABSENT), movedTo: key('f') }, effect('f', ABSENT, FOLDER)],
  };
  const intoAnother = [
    { ...effect('d', FOLDER, ABSENT), movedTo: key('e/f') },
    effect('e/f', ABSENT, FOLDER),
  ];
  const theOther = [{ ...effect('e', FOLDER, ABSENT), movedTo: key('g') }, effect('g', ABSENT, FOLDER)];
  it.each<[string, readonly Partial<NewEntry>[]]>([
    [
      'in a folder since moved',
      [{ ...folder, session: 's' }, { effects: [effect('f/a', file('1'), file('2'))] }],
    ],
    [
      'that moved the folder which contains the moved one',
      [{ effects: intoAnother, session: 's' }, { effects: theOther }],
    ],
    [
      'that moved the folder which contains the moved one, whose old path is taken',
      [
        { effects: intoAnother, session: 's' },
        { effects: [effect('d', ABSENT, file('1'))], session: 's' },
        { effects: theOther },
      ],
    ],
    [
      'that created the folder again',
      [{ ...folder, session: 's' }, { effects: [effect('d', ABSENT, FOLDER)] }],
    ],
  ])('%s makes the undo refuse, with and without a merge', (_what, changes) => {
    const entries = history(...changes.map((each) => ({ session: 't', ...each })));
    for (const merge of [true, false])
      expect(planUndo(entries, { root: ROOT, kind: 'all', session: 's' }, { merge })).toMatchObject({
        ok: false,
        refusal: { code: 'STALE' },
      });
  });
});

describe('moved folders', () => {
  it('take along the files that were changed in them before', () => {
    const folderMoves = [{ ...effect('d', FOLDER, ABSENT), movedTo: key('f') }, effect('f', ABSENT, FOLDER)];
    const entries = history(
      { effects: [effect('d/a', file('1'), file('2'))], session: 's' },
      { effects: folderMoves, session: 't' },
    );
    expect(steps(plan(entries, { kind: 'all', session: 's' }))).toEqual(['f/a: 2 644 -> 1 644']);
  });

  it('move back when the folder that they were moved into is undone', () => {
    const into = [
      effect('e', ABSENT, FOLDER),
      { ...effect('d', FOLDER, ABSENT), movedTo: key('e/f') },
      effect('e/f', ABSENT, FOLDER),
      effect('b', file('1'), file('2')),
    ];
    expect(steps(plan(history(into), { kind: 'last', key: key('e') }))).toEqual([
      'd: absent -> directory from e/f',
      'e: directory -> absent',
    ]);
  });

  const folder = [{ ...effect('d', FOLDER, ABSENT), movedTo: key('f') }, effect('f', ABSENT, FOLDER)];

  it('divide the steps; files changed before the move are checked at their present path', () => {
    const entries = history(
      [effect('d/a', file('1'), file('2'))],
      [effect('d/b', ABSENT, file('1'))],
      folder,
      [effect('f/a', file('2'), file('3'))],
    );
    expect(steps(plan(entries, { kind: 'all' }))).toEqual([
      'f/a: 3 644 -> 2 644',
      'd: absent -> directory from f',
      'd/b: 1 644 -> absent (look f/b)',
      'd/a: 2 644 -> 1 644 (look nowhere)',
    ]);
  });

  it('that the selected changes created are removed last', () => {
    const entries = history([effect('d', ABSENT, FOLDER)], folder);
    expect(steps(plan(entries, { kind: 'all' }))).toEqual([
      'd: absent -> directory from f',
      'd: directory -> absent (look f)',
    ]);
  });
});

describe('undo and redo', () => {
  const edits = [[effect('a', file('1'), file('2'))], [effect('a', file('2'), file('3'))]];
  const undo = (change: string, before: string, after: string): Partial<NewEntry> => ({
    action: 'undo',
    undoes: change,
    effects: [effect('a', file(before), file(after))],
  });

  it('a second undo undoes the next older change', () => {
    const once = history(...edits, undo('c2', '3', '2'));
    expect(plan(once, { kind: 'last' })).toMatchObject({ undone: { changes: ['c1'] } });
    const twice = history(...edits, undo('c2', '3', '2'), undo('c1', '2', '1'));
    expect(planUndo(twice, { root: ROOT, kind: 'last' }).ok).toBe(false);
    expect(planUndo(twice, { root: ROOT, kind: 'change', change: 'c1' })).toMatchObject({
      refusal: { detail: { reason: 'change c1 was already undone by c4' } },
    });
  });

  it('an undo can be undone by its id, unless a later change follows it', () => {
    const once = history(...edits, undo('c2', '3', '2'));
    expect(steps(plan(once, { kind: 'change', change: 'c3' }))).toEqual(['a: 2 644 -> 3 644']);
    const twice = history(...edits, undo('c2', '3', '2'), undo('c1', '2', '1'));
    expect(planUndo(twice, { root: ROOT, kind: 'change', change: 'c3' })).toMatchObject({
      refusal: { code: 'STALE', detail: { reason: expect.stringMatching(/change c4/) } },
    });
  });

  it('a redone change is in effect again, and is the next to be undone', () => {
    const redone = history(...edits, undo('c2', '3', '2'), undo('c3', '2', '3'));
    expect(plan(redone, { kind: 'last' })).toMatchObject({ undone: { changes: ['c2'] } });
    expect(steps(plan(redone, { kind: 'all' }))).toEqual(['a: 3 644 -> 1 644']);
  });

  it('an undo of one file of a batch leaves the rest to be undone', () => {
    const batch = [effect('a', file('1'), file('2')), effect('b', file('1'), file('2'))];
    const undone = { changes: ['c1'], keys: [key('a')] };
    const entries = history(batch, { effects: [effect('a', file('2'), file('1'))], undone });
    expect(steps(plan(entries, { kind: 'last' }))).toEqual(['b: 2 644 -> 1 644']);
    expect(planUndo(entries, { root: ROOT, kind: 'last', key: key('a') }).ok).toBe(false);
  });

  it('a file of a batch is in effect again if its own undo is undone, even after an undo of the rest', () => {
    const batch = [effect('a', file('1'), file('2')), effect('b', file('1'), file('2'))];
    const first = {
      effects: [effect('a', file('2'), file('1'))],
      undone: { changes: ['c1'], keys: [key('a')] },
    };
    const { undone } = plan(history(batch, first), { kind: 'change', change: 'c1' });
    expect(undone).toEqual({ changes: ['c1'], keys: [key('b')] });
    const rest = { effects: [effect('b', file('2'), file('1'))], undone };
    const redo = { effects: [effect('a', file('1'), file('2'))], undone: { changes: ['c2'] } };
    const entries = history(batch, first, rest, redo);
    expect(steps(plan(entries, { kind: 'change', change: 'c1' }))).toEqual(['a: 2 644 -> 1 644']);
  });

  it('changes that were undone are no obstacle to older ones', () => {
    const entries = history(...edits, undo('c2', '3', '2'));
    expect(steps(plan(entries, { kind: 'change', change: 'c1' }))).toEqual(['a: 2 644 -> 1 644']);
  });

  it('a change without a net effect is skipped', () => {
    const idle = [effect('b', ABSENT, file('1')), effect('b', file('1'), ABSENT)];
    expect(plan(history(...edits, idle), { kind: 'last' }).undone.changes).toEqual(['c2']);
  });
});
