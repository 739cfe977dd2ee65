import { describe, expect, it } from 'vitest';
import { ABSENT, effect, FOLDER, file, ROOT, readEntry } from '../../test/store/samples.ts';
import { history, key, LINK, plan, steps, unkept, type Wanted } from '../../test/store/undoing.ts';
import type { Effect, NewEntry } from '../model/entry.ts';
import { oldestSeq } from './undo-events.ts';
import { planUndo } from './undo-plan.ts';

describe('each kind of change can be undone', () => {
  it.each<[string, readonly Effect[], readonly string[]]>([
    ['create', [effect('a', ABSENT, unkept('x'))], ['a: x 644 -> absent']],
    [
      'create with new folders: the file is removed first, then the inner folder, then the outer one',
      [effect('d', ABSENT, FOLDER), effect('d/e', ABSENT, FOLDER), effect('d/e/a', ABSENT, unkept('x'))],
      ['d/e/a: x 644 -> absent', 'd/e: directory -> absent', 'd: directory -> absent'],
    ],
    ['overwrite', [effect('a', file('x'), unkept('y'))], ['a: y 644 -> x 644']],
    [
      'edit, with the earlier mode',
      [effect('a', file('x', { mode: 0o755 }), file('y', { mode: 0o755 }))],
      ['a: y 755 -> x 755'],
    ],
    ['a change of mode alone', [effect('a', file('x'), file('x', { mode: 0o755 }))], ['a: x 755 -> x 644']],
    ['delete', [effect('a', file('x'), ABSENT)], ['a: absent -> x 644']],
    ['delete of a link', [effect('l', LINK, ABSENT)], ['l: absent -> => ../x']],
    ['mkdir', [effect('d', ABSENT, FOLDER)], ['d: directory -> absent']],
    [
      'recursive delete: folders are restored before their contents',
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
      'move of a folder, whose contents are not listed',
      [{ ...effect('d', FOLDER, ABSENT), movedTo: key('f') }, effect('f', ABSENT, FOLDER)],
      ['d: absent -> directory from f'],
    ],
    [
      'a folder that replaced a file',
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

  it('a move without a recorded destination: the effect after the source is the destination', () => {
    const effects = [effect('g', ABSENT, FOLDER), effect('d', FOLDER, ABSENT), effect('g/d', ABSENT, FOLDER)];
    const undo = plan(history({ effects, action: 'move' }), { kind: 'last' });
    expect(steps(undo)).toEqual(['d: absent -> directory from g/d', 'g: directory -> absent']);
  });

  it('bytes to restore count as kept if the plan itself displaces them', () => {
    const effects = [effect('a', unkept('x'), ABSENT), effect('b', ABSENT, unkept('x'))];
    const undo = plan(history(effects), { kind: 'last' });
    expect(undo.steps.map((step) => step.after)).toEqual([ABSENT, file('x')]);
  });

  it('bytes that were never kept cannot be restored, and the refusal says so', () => {
    const outcome = planUndo(history([effect('a', unkept('x'), file('y'))]), { root: ROOT, kind: 'last' });
    expect(outcome).toMatchObject({
      ok: false,
      refusal: {
        code: 'NOT_FOUND',
        action: 'undo',
        path: 'a',
        detail: { reason: expect.stringMatching(/no copy of its earlier content/) },
      },
    });
  });
});

describe('a target selects', () => {
  const entries = history(
    { effects: [effect('a', file('1'), file('2'))], session: 's' },
    { effects: [effect('b', file('1'), file('2'))], session: 't' },
    { effects: [effect('a', file('2'), file('3')), effect('c', file('1'), file('2'))], session: 's' },
    { effects: [effect('d', ABSENT, file('1'))], session: 't', root: '/elsewhere' },
  );

  it.each<[string, Wanted, readonly string[], readonly string[]]>([
    ['the last change of any session', { kind: 'last' }, ['a: 3 644 -> 2 644', 'c: 2 644 -> 1 644'], ['c3']],
    ['the last change of a session', { kind: 'last', session: 't' }, ['b: 2 644 -> 1 644'], ['c2']],
    ['the last change of a file', { kind: 'last', key: key('b') }, ['b: 2 644 -> 1 644'], ['c2']],
    ['one file of a batch', { kind: 'last', key: key('c') }, ['c: 2 644 -> 1 644'], ['c3']],
    ['one file of a change', { kind: 'change', change: 'c3', key: key('a') }, ['a: 3 644 -> 2 644'], ['c3']],
    [
      'all changes of a session: consecutive changes of one file are one step',
      { kind: 'all', session: 's' },
      ['a: 3 644 -> 1 644', 'c: 2 644 -> 1 644'],
      ['c3', 'c1'],
    ],
    ['all changes of a file', { kind: 'all', key: key('a') }, ['a: 3 644 -> 1 644'], ['c3', 'c1']],
    [
      'all changes since a time',
      { kind: 'all', sinceMs: 20 },
      ['a: 3 644 -> 2 644', 'c: 2 644 -> 1 644', 'b: 2 644 -> 1 644'],
      ['c3', 'c2'],
    ],
  ])('%s', (_what, target, expected, changes) => {
    const undo = plan(entries, target);
    expect(steps(undo).sort()).toEqual([...expected].sort());
    expect(undo.undone.changes).toEqual(changes);
  });

  it('part of a change, which is recorded as a part', () => {
    expect(plan(entries, { kind: 'last', key: key('c') }).undone.keys).toEqual([key('c')]);
    expect(plan(entries, { kind: 'last', key: key('b') }).undone.keys).toBeUndefined();
  });

  it('with a file of a batch, the other end of its move and the folders made for it alone', () => {
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

  it('with a file of a deleted folder, the folders that contain it; with a folder, its contents', () => {
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
      /c1 has nothing left to undo here/,
    ],
    ['a session that did nothing', { kind: 'last', session: 'u' }, /no change left/],
    ['a time after everything', { kind: 'all', sinceMs: 99 }, /no change left/],
  ])('nothing and refuses for %s', (_what, target, reason) => {
    const outcome = planUndo([...entries, { ...readEntry(), seq: 9, hash: '' }], { root: ROOT, ...target });
    expect(outcome).toMatchObject({
      ok: false,
      refusal: { code: 'NOT_FOUND', detail: { reason: expect.stringMatching(reason) } },
    });
  });
});

const undo = (changes: readonly string[], ...effects: readonly Effect[]): Partial<NewEntry> => ({
  action: 'undo',
  undone: { changes },
  effects,
});
const moved = (from: string, to: string): Effect[] => [
  { ...effect(from, FOLDER, ABSENT), movedTo: key(to) },
  effect(to, ABSENT, FOLDER),
];
const MADE = [effect('k', ABSENT, FOLDER), effect('k/a', ABSENT, file('1'))];

describe('undoing all changes', () => {
  it('passes through every state, if an undo is mixed with other changes', () => {
    const entries = history(
      MADE,
      [effect('k/a', file('1'), ABSENT)],
      [effect('k', FOLDER, ABSENT)],
      moved('d', 'z'),
      undo(['c2'], effect('k', ABSENT, FOLDER), effect('k/a', ABSENT, file('1'))),
    );
    const course = plan(entries, { kind: 'all' });
    expect(steps(course)).toEqual([
      'k/a: 1 644 -> absent',
      'k: directory -> absent',
      'd: absent -> directory from z',
    ]);
    expect(course.undone.changes).toEqual(['c4', 'c3', 'c1']);
  });

  it('passes through every state even if an undone folder was used by other changes in between', () => {
    const entries = history(
      [effect('k', ABSENT, FOLDER)],
      [effect('k/a', ABSENT, file('1'))],
      moved('d', 'z'),
      [effect('k/a', file('1'), ABSENT)],
      undo(['c1'], effect('k', FOLDER, ABSENT)),
    );
    expect(steps(plan(entries, { kind: 'all' }))).toEqual([
      'k: absent -> directory',
      'k/a: absent -> 1 644',
      'd: absent -> directory from z',
      'k/a: 1 644 -> absent (look nowhere)',
      'k: directory -> absent (look nowhere)',
    ]);
  });

  it.each<[string, readonly (readonly Effect[] | Partial<NewEntry>)[]]>([
    ['at once', [undo(['c2'], ...moved('z', 'd'))]],
    ['after a change elsewhere', [[effect('b', ABSENT, file('2'))], undo(['c2'], ...moved('z', 'd'))]],
  ])('omits a folder’s move that was undone %s', (_, rest) => {
    const { steps: all } = plan(history(MADE, moved('d', 'z'), ...rest), { kind: 'all' });
    expect(all.filter(({ movedFrom }) => movedFrom !== undefined)).toEqual([]);
  });

  it('keeps a change of another session in between', () => {
    const entries = history(
      MADE,
      { session: 't', effects: [effect('b', ABSENT, file('2'))] },
      [effect('k/a', file('1'), ABSENT)],
      [effect('k', FOLDER, ABSENT)],
      undo(['c3'], effect('k', ABSENT, FOLDER), effect('k/a', ABSENT, file('1'))),
    );
    expect(steps(plan(entries, { kind: 'all', session: 'agent' }))).toEqual([
      'k/a: 1 644 -> absent',
      'k: directory -> absent',
    ]);
  });

  it.each([1, 2])(
    'keeps a change of another session that was undone and redone, if it was change %i',
    (n) => {
      const theirs = { session: 't', effects: MADE };
      const mine = [effect('b', file('1'), file('2'))];
      const entries = history(
        ...(n === 1 ? [theirs, mine] : [mine, theirs]),
        undo([`c${n}`], effect('k/a', file('1'), ABSENT), effect('k', FOLDER, ABSENT)),
        undo(['c3'], ...MADE),
      );
      expect(steps(plan(entries, { kind: 'all', session: 'agent' }))).toEqual(['b: 2 644 -> 1 644']);
    },
  );

  it('has an alternative plan that omits files which are already restored', () => {
    const entries = history(
      [effect('k/a', file('1'), ABSENT)],
      [effect('k', FOLDER, ABSENT)],
      moved('d', 'z'),
      undo(['c1'], effect('k', ABSENT, FOLDER), effect('k/a', ABSENT, file('1'))),
    );
    const outcome = planUndo(entries, { root: ROOT, kind: 'all' });
    if (!outcome.ok || outcome.instead === undefined) return expect.fail(JSON.stringify(outcome));
    expect(steps(outcome.plan).join()).toContain('k/a');
    expect(steps(outcome.instead).join()).not.toContain('k/a');
  });
});

it('the oldest of very many changes is found', () => {
  const [entry] = history([]);
  if (entry === undefined) expect.fail('no entry');
  const many = Array.from({ length: 200_000 }, (_, at) => ({
    entry: { ...entry, seq: at + 7 },
    effects: [],
  }));
  expect(oldestSeq(many)).toBe(7);
});
