import { describe, expect, it } from 'vitest';
import { changeEntry, effect, file, ROOT } from '../../test/store/samples.ts';
import { history } from '../../test/store/undoing.ts';
import type { Effect } from '../model/entry.ts';
import { planUndo } from './undo-plan.ts';

const FILES = 20_000;
const MADE: readonly Effect[] = Array.from({ length: FILES }, (_, number) =>
  effect(`f${number}`, file('x'), file('y')),
);
const FIRST = changeEntry('first', [effect('a', file('x'), file('y'))]);
const LARGE = changeEntry('large', MADE);

function takenBack(effects: readonly Effect[]): readonly Effect[] {
  return effects.map((each) => ({ ...each, before: each.after, after: each.before }));
}

describe('the plan of an undo after the undo', () => {
  it.each([
    ['of a large change', 'first', changeEntry('undo', takenBack(MADE), { undoes: 'large' }), 1],
    [
      'of nearly all files of a large change',
      'large',
      changeEntry('undo', takenBack(MADE.slice(1)), {
        undoes: 'large',
        undone: { changes: ['large'], keys: MADE.slice(1).map(({ key }) => key) },
      }),
      1,
    ],
  ])('%s', (_what, change, undo, steps) => {
    const entries = history(FIRST, LARGE, undo);
    const outcome = planUndo(entries, { root: ROOT, kind: 'change', change });
    expect(outcome.ok && outcome.plan.steps).toHaveLength(steps);
  });
});
