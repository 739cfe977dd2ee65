import { describe, expect, it } from 'vitest';
import { ABSENT, changeEntry, effect, FOLDER, file, ROOT, readEntry } from '../../test/store/samples.ts';
import type { Effect, Entry, NewEntry, Side } from '../model/entry.ts';
import { planUndo, type UndoOptions, type UndoPlan } from './undo-plan.ts';
import type { UndoTarget } from './undo-selection.ts';

const LINK: Side = { kind: 'link', target: '../x' };
const key = (path: string): string => `${ROOT}/${path}`;
const unkept = (content: string): Side => file(content, { kept: false });

/** Entries `c1`, `c2`, … of the given effects, one after the other. */
function history(...changes: readonly (readonly Effect[] | Partial<NewEntry>)[]): Entry[] {
  return changes.map((given, i) => {
    const more: Partial<NewEntry> = 'length' in given ? { effects: given as readonly Effect[] } : given;
    return { ...changeEntry(`c${i + 1}`, [], { atMs: 10 * (i + 1), ...more }), seq: i + 1, hash: '' };
  });
}

type Wanted = UndoTarget extends infer T ? (T extends UndoTarget ? Omit<T, 'root'> : never) : never;

function plan(entries: readonly Entry[], target: Wanted, options?: UndoOptions): UndoPlan {
  const outcome = planUndo(entries, { root: ROOT, ...target }, options);
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.refusal));
  return outcome.plan;
}

/** `path: what is expected -> what comes back`, one line per step. */
function steps({ steps: all }: UndoPlan): string[] {
  const say = (side: Side): string => {
    if (side.kind === 'file') return `${side.fingerprint.sha256[0]} ${side.mode.toString(8)}`;
    return side.kind === 'link' ? `=> ${side.target}` : side.kind;
  };
  return all.map((step) => {
    const from = step.from === undefined ? '' : ` from ${step.from.relative}`;
    const look =
      step.lookAt === step.key ? '' : ` (look ${step.lookAt?.slice(ROOT.length + 1) ?? 'nowhere'})`;
    return `${step.relative}: ${say(step.expect)} -> ${say(step.restore)}${from}${look}`;
  });
}

describe('each kind of change is taken back', () => {
  it.each<[string, readonly Effect[], readonly string[]]>([
    ['create', [effect('a', ABSENT, unkept('x'))], ['a: x 644 -> absent']],
    [
      'create with folders on the way: the file goes before them, the inner before the outer',
      [effect('d', ABSENT, FOLDER), effect('d/e', ABSENT, FOLDER), effect('d/e/a', ABSENT, unkept('x'))],
      ['d/e/a: x 644 -> absent', 'd/e: directory -> absent', 'd: directory -> absent'],
    ],
    ['overwrite', [effect('a', file('x'), unkept('y'))], ['a: y 644 -> x 644']],
    [
      'edit, with the mode the file had',
      [effect('a', file('x', { mode: 0o755 }), file('y', { mode: 0o755 }))],
      ['a: y 755 -> x 755'],
    ],
    ['a change of mode alone', [effect('a', file('x'), file('x', { mode: 0o755 }))], ['a: x 755 -> x 644']],
    ['delete', [effect('a', file('x'), ABSENT)], ['a: absent -> x 644']],
    ['delete of a link', [effect('l', LINK, ABSENT)], ['l: absent -> => ../x']],
    ['mkdir', [effect('d', ABSENT, FOLDER)], ['d: directory -> absent']],
    [
      'recursive delete: folders come before what is in them',
      [
        effect('d/e/a', file('x'), ABSENT),
        effect('d/e', FOLDER, ABSENT),
        effect('d/l', LINK, ABSENT),
        effect('d', FOLDER, ABSENT),
      ],
      [
        'd: absent -> directory',
        'd/e: absent -> directory',
        'd/l: absent -> => ../x',
        'd/e/a: absent -> x 644',
      ],
    ],
    [
      'move of a file, whose bytes are only at the destination',
      [{ ...effect('a', unkept('x'), ABSENT), movedTo: key('b') }, effect('b', ABSENT, unkept('x'))],
      ['b: x 644 -> absent', 'a: absent -> x 644'],
    ],
    [
      'move over a file',
      [{ ...effect('a', unkept('x'), ABSENT), movedTo: key('b') }, effect('b', file('y'), unkept('x'))],
      ['a: absent -> x 644', 'b: x 644 -> y 644'],
    ],
    [
      'move of a folder, whose content is not listed',
      [{ ...effect('d', FOLDER, ABSENT), movedTo: key('f') }, effect('f', ABSENT, FOLDER)],
      ['d: absent -> directory from f'],
    ],
    [
      'a folder in the place of a file',
      [effect('p', file('x'), ABSENT), effect('p', ABSENT, FOLDER), effect('p/q', ABSENT, unkept('y'))],
      ['p/q: y 644 -> absent', 'p: directory -> x 644'],
    ],
    [
      'batch',
      [effect('a', file('x'), unkept('y')), effect('b', ABSENT, unkept('z')), effect('c', file('w'), ABSENT)],
      ['b: z 644 -> absent', 'a: y 644 -> x 644', 'c: absent -> w 644'],
    ],
  ])('%s', (_what, effects, expected) => {
    const undo = plan(history(effects), { kind: 'change', change: 'c1' });
    expect(steps(undo)).toEqual(expected);
    expect(undo.undone).toEqual({ changes: ['c1'] });
  });

  it('a move that does not say where the thing went: the effect after the source is the destination', () => {
    const effects = [effect('g', ABSENT, FOLDER), effect('d', FOLDER, ABSENT), effect('g/d', ABSENT, FOLDER)];
    const undo = plan(history({ effects, action: 'move' }), { kind: 'last' });
    expect(steps(undo)).toEqual(['d: absent -> directory from g/d', 'g: directory -> absent']);
  });

  it('bytes to be restored count as kept wherever the plan will find them', () => {
    const effects = [effect('a', unkept('x'), ABSENT), effect('b', ABSENT, unkept('x'))];
    const undo = plan(history(effects), { kind: 'last' });
    expect(undo.steps.map((step) => step.restore)).toEqual([ABSENT, file('x')]);
  });

  it('bytes that were never kept cannot be brought back, and the refusal says so', () => {
    const outcome = planUndo(history([effect('a', unkept('x'), file('y'))]), { root: ROOT, kind: 'last' });
    expect(outcome).toMatchObject({
      ok: false,
      refusal: {
        code: 'NOT_FOUND',
        action: 'undo',
        path: 'a',
        detail: { reason: expect.stringMatching(/not kept/) },
      },
    });
  });
});

describe('what is selected', () => {
  const entries = history(
    { effects: [effect('a', file('1'), file('2'))], session: 's' },
    { effects: [effect('b', file('1'), file('2'))], session: 't' },
    { effects: [effect('a', file('2'), file('3')), effect('c', file('1'), file('2'))], session: 's' },
    { effects: [effect('d', ABSENT, file('1'))], session: 't', root: '/elsewhere' },
  );

  it.each<[string, Wanted, readonly string[], readonly string[]]>([
    ['the last change of anyone', { kind: 'last' }, ['a: 3 644 -> 2 644', 'c: 2 644 -> 1 644'], ['c3']],
    ['the last change of a session', { kind: 'last', session: 't' }, ['b: 2 644 -> 1 644'], ['c2']],
    ['the last change of a file', { kind: 'last', key: key('b') }, ['b: 2 644 -> 1 644'], ['c2']],
    ['one file of a batch', { kind: 'last', key: key('c') }, ['c: 2 644 -> 1 644'], ['c3']],
    ['one file of a change', { kind: 'change', change: 'c3', key: key('a') }, ['a: 3 644 -> 2 644'], ['c3']],
    [
      'all of a session: changes of one file in a row are one step',
      { kind: 'all', session: 's' },
      ['a: 3 644 -> 1 644', 'c: 2 644 -> 1 644'],
      ['c3', 'c1'],
    ],
    ['all of a file', { kind: 'all', key: key('a') }, ['a: 3 644 -> 1 644'], ['c3', 'c1']],
    [
      'all since a time',
      { kind: 'all', sinceMs: 20 },
      ['a: 3 644 -> 2 644', 'c: 2 644 -> 1 644', 'b: 2 644 -> 1 644'],
      ['c3', 'c2'],
    ],
  ])('%s', (_what, target, expected, changes) => {
    const undo = plan(entries, target);
    expect(steps(undo).sort()).toEqual([...expected].sort());
    expect(undo.undone.changes).toEqual(changes);
  });

  it('only part of a change is noted as such, the whole is not', () => {
    expect(plan(entries, { kind: 'last', key: key('c') }).undone.keys).toEqual([key('c')]);
    expect(plan(entries, { kind: 'last', key: key('b') }).undone.keys).toBeUndefined();
  });

  it('a file of a batch takes the other end of its move with it, and the folders made for it alone', () => {
    const moved = history([
      { ...effect('a', unkept('x'), ABSENT), movedTo: key('b') },
      effect('b', ABSENT, unkept('x')),
      effect('c', file('1'), file('2')),
    ]);
    expect(steps(plan(moved, { kind: 'last', key: key('b') }))).toEqual([
      'b: x 644 -> absent',
      'a: absent -> x 644',
    ]);
    const made = history([effect('d', ABSENT, FOLDER), effect('d/a', ABSENT, unkept('x'))]);
    expect(steps(plan(made, { kind: 'last', key: key('d/a') }))).toHaveLength(2);
  });

  it('a file of a deleted folder comes back with the folders around it; a folder with what is in it', () => {
    const deleted = history([
      effect('d/e/a', file('x'), ABSENT),
      effect('d/e', FOLDER, ABSENT),
      effect('d/b', file('y'), ABSENT),
      effect('d', FOLDER, ABSENT),
    ]);
    expect(steps(plan(deleted, { kind: 'last', key: key('d/b') }))).toEqual([
      'd: absent -> directory',
      'd/b: absent -> y 644',
    ]);
    expect(steps(plan(deleted, { kind: 'last', key: key('d/e') }))).toEqual([
      'd: absent -> directory',
      'd/e: absent -> directory',
      'd/e/a: absent -> x 644',
    ]);
  });

  it.each<[string, Wanted, RegExp]>([
    ['an unknown change', { kind: 'change', change: 'c9' }, /no change c9/],
    ['a change of another workspace', { kind: 'change', change: 'c4' }, /no change c4/],
    [
      'a file that a change did not touch',
      { kind: 'change', change: 'c1', key: key('b') },
      /nothing to take back/,
    ],
    ['a session that did nothing', { kind: 'last', session: 'u' }, /no change left/],
    ['a time after everything', { kind: 'all', sinceMs: 99 }, /no change left/],
  ])('%s is refused', (_what, target, reason) => {
    const outcome = planUndo([...entries, { ...readEntry(), seq: 9, hash: '' }], { root: ROOT, ...target });
    expect(outcome).toMatchObject({
      ok: false,
      refusal: { code: 'NOT_FOUND', detail: { reason: expect.stringMatching(reason) } },
    });
  });
});

describe('a change in between', () => {
  const mine = { effects: [effect('a', file('1'), file('2'))], session: 's' };
  const theirs = { effects: [effect('a', file('2'), file('3'))], session: 't' };
  const again = { effects: [effect('a', file('3'), file('4'))], session: 's' };

  it.each<[string, readonly Partial<NewEntry>[], Wanted]>([
    ['after the selected one', [mine, theirs], { kind: 'last', session: 's' }],
    ['between two selected ones', [mine, theirs, again], { kind: 'all', session: 's' }],
  ])('%s refuses, and names who made it', (_what, changes, target) => {
    expect(planUndo(history(...changes), { root: ROOT, ...target })).toMatchObject({
      ok: false,
      refusal: {
        code: 'STALE',
        path: 'a',
        detail: { reason: expect.stringMatching(/change c2/), writer: { session: 't', atMs: 20 } },
      },
    });
  });

  it('by nobody we know refuses too', () => {
    const entries = history([effect('a', file('1'), file('2'))], [effect('a', file('X'), file('3'))]);
    expect(planUndo(entries, { root: ROOT, kind: 'all' })).toMatchObject({
      ok: false,
      refusal: {
        code: 'STALE',
        detail: { reason: expect.stringMatching(/outside between change c1 and change c2/) },
      },
    });
  });

  it('is carried over when asked to: one step per unbroken run, the later ones to be merged', () => {
    const undo = plan(history(mine, theirs, again), { kind: 'all', session: 's' }, { merge: true });
    expect(steps(undo)).toEqual(['a: 4 644 -> 3 644', 'a: 2 644 -> 1 644 (look nowhere)']);
  });

  it('that has brought a folder back already is none', () => {
    const entries = history(
      { effects: [effect('d/a', file('x'), ABSENT), effect('d', FOLDER, ABSENT)], session: 's' },
      { effects: [effect('d', ABSENT, FOLDER)], session: 't' },
    );
    expect(steps(plan(entries, { kind: 'last', session: 's' }))).toHaveLength(2);
  });

  it('of another file does not matter', () => {
    const other = { effects: [effect('b', file('2'), file('3'))], session: 't' };
    expect(steps(plan(history(mine, other), { kind: 'last', session: 's' }))).toHaveLength(1);
  });

  const folder = {
    effects: [{ ...effect('d', FOLDER, ABSENT), movedTo: key('f') }, effect('f', ABSENT, FOLDER)],
  };
  it.each<[string, readonly Partial<NewEntry>[]]>([
    [
      'in a folder since moved',
      [{ ...folder, session: 's' }, { effects: [effect('f/a', file('1'), file('2'))] }],
    ],
    ['that moved the folder', [{ effects: [effect('d/a', file('1'), file('2'))], session: 's' }, folder]],
    ['that made the folder anew', [{ ...folder, session: 's' }, { effects: [effect('d', ABSENT, FOLDER)] }]],
  ])('%s refuses, merge or not', (_what, changes) => {
    const entries = history(...changes.map((each) => ({ session: 't', ...each })));
    for (const merge of [true, false])
      expect(planUndo(entries, { root: ROOT, kind: 'all', session: 's' }, { merge })).toMatchObject({
        ok: false,
        refusal: { code: 'STALE' },
      });
  });
});

describe('moved folders', () => {
  const folder = [{ ...effect('d', FOLDER, ABSENT), movedTo: key('f') }, effect('f', ABSENT, FOLDER)];

  it('divide the steps; what was changed before the move is looked for where it is now', () => {
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

  it('that were made by the selected changes go at last', () => {
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

  it('undoing again goes to the next older change', () => {
    const once = history(...edits, undo('c2', '3', '2'));
    expect(plan(once, { kind: 'last' })).toMatchObject({ undone: { changes: ['c1'] } });
    const twice = history(...edits, undo('c2', '3', '2'), undo('c1', '2', '1'));
    expect(planUndo(twice, { root: ROOT, kind: 'last' }).ok).toBe(false);
    expect(planUndo(twice, { root: ROOT, kind: 'change', change: 'c1' })).toMatchObject({
      refusal: { detail: { reason: 'change c1 was already taken back by c4' } },
    });
  });

  it('an undo can be taken back by its id, unless something came after it', () => {
    const once = history(...edits, undo('c2', '3', '2'));
    expect(steps(plan(once, { kind: 'change', change: 'c3' }))).toEqual(['a: 2 644 -> 3 644']);
    const twice = history(...edits, undo('c2', '3', '2'), undo('c1', '2', '1'));
    expect(planUndo(twice, { root: ROOT, kind: 'change', change: 'c3' })).toMatchObject({
      refusal: { code: 'STALE', detail: { reason: expect.stringMatching(/change c4/) } },
    });
  });

  it('what was redone stands again, and is the next to be undone', () => {
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

  it('changes that were undone are no obstacle to older ones', () => {
    const entries = history(...edits, undo('c2', '3', '2'));
    expect(steps(plan(entries, { kind: 'change', change: 'c1' }))).toEqual(['a: 2 644 -> 1 644']);
  });

  it('a change that left everything as it was is passed over', () => {
    const idle = [effect('b', ABSENT, file('1')), effect('b', file('1'), ABSENT)];
    expect(plan(history(...edits, idle), { kind: 'last' }).undone.changes).toEqual(['c2']);
  });
});
