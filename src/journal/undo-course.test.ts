import { describe, expect, it } from 'vitest';
import { ABSENT, effect, FOLDER, file, ROOT } from '../../test/store/samples.ts';
import { history, key, plan, steps } from '../../test/store/undoing.ts';
import type { Effect, NewEntry } from '../model/entry.ts';
import { planUndo } from './undo-plan.ts';

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

describe('all is taken back', () => {
  it('through every state, if an undo is mixed up with other changes', () => {
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

  it('also if what was taken back is as it was, but others were in it meanwhile', () => {
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
    ['after something elsewhere', [[effect('b', ABSENT, file('2'))], undo(['c2'], ...moved('z', 'd'))]],
  ])('without a folder’s move that was taken back %s', (_, rest) => {
    const { steps: all } = plan(history(MADE, moved('d', 'z'), ...rest), { kind: 'all' });
    expect(all.filter(({ from }) => from !== undefined)).toEqual([]);
  });

  it('but not what someone else did in between', () => {
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

  it('with a plan to fall back on that leaves alone what is as it was', () => {
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
