import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../test/store/samples.ts';
import { SmallWorld } from '../../test/store/small-world.ts';
import { rounds } from '../../test/support/rounds.ts';
import type { UndoTarget } from './undo-history.ts';
import { planUndo, type UndoPlan } from './undo-plan.ts';

const path = fc.constantFrom('a', 'b', 'd', 'd/a', 'd/b', 'd/e', 'd/e/a', 'f', 'f/a', 'f/e/a');
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      path,
      content: fc.constantFrom('1', '2', '3'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('delete' as const, 'mkdir' as const), path }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('move' as const), path, to: path }) },
);
const change = fc.array(operation, { minLength: 1, maxLength: 3 });
const changes = fc.array(change, { minLength: 1, maxLength: 12 });

function lived(all: readonly (readonly Parameters<SmallWorld['change']>[1][number][])[]): SmallWorld {
  const world = new SmallWorld();
  for (const ops of all) world.change('s', ops);
  return world;
}

/** Plans and executes an undo. Returns the id of the undo; undefined if there was nothing to do. */
function undo(world: SmallWorld, target: UndoTarget): string | undefined {
  const outcome = planUndo(world.entries, target);
  if (outcome.ok) return world.follow(outcome.plan, 's');
  expect(outcome.refusal).toMatchObject({
    code: 'NOT_FOUND',
    detail: { reason: expect.stringMatching(/no change left/) },
  });
  return undefined;
}

/**
 * Executes a plan. Accepts two failures: a folder to remove is not empty, or a parent is no folder.
 * They can happen because the journal does not record everything on disk.
 */
function followUnlessFull(world: SmallWorld, plan: UndoPlan): void {
  try {
    world.follow(plan, 's', 'made');
  } catch (error) {
    expect(String(error)).toMatch(/still has something in it|is no folder/);
  }
}

const LAST = { root: ROOT, kind: 'last' } as const;
const ALL = { root: ROOT, kind: 'all' } as const;

describe('after any random changes,', () => {
  it('undoing all of them at once restores the first state', () => {
    fc.assert(
      fc.property(changes, (all) => {
        const world = lived(all);
        undo(world, ALL);
        expect(world.look()).toEqual({});
        expect(undo(world, ALL)).toBeUndefined();
      }),
      { numRuns: rounds(150, 600) },
    );
  });

  it('undoing all changes since a moment restores the state at that moment', () => {
    fc.assert(
      fc.property(changes, changes, (before, after) => {
        const world = lived(before);
        const then = world.look();
        const sinceMs = world.entries.length + 1;
        for (const ops of after) world.change('s', ops);
        undo(world, { ...ALL, sinceMs });
        expect(world.look()).toEqual(then);
      }),
      { numRuns: rounds(75, 300) },
    );
  });

  it('undoing one by one restores every state in between', () => {
    fc.assert(
      fc.property(changes, (all) => {
        const world = new SmallWorld();
        const states = [];
        for (const ops of all) {
          const state = world.look();
          world.change('s', ops);
          if (!isDeepStrictEqual(state, world.look())) states.push(state);
        }
        for (const state of states.reverse()) {
          const now = world.look();
          // Undo until the tree changes: some changes have no visible effect, such as a folder that
          // was moved away and back.
          while (isDeepStrictEqual(world.look(), now)) expect(undo(world, LAST)).toBeDefined();
          expect(world.look()).toEqual(state);
        }
      }),
      { numRuns: rounds(75, 300) },
    );
  });

  it('undoing an undo redoes the changes, and they can be undone again', () => {
    fc.assert(
      fc.property(changes, fc.array(fc.boolean(), { maxLength: 8 }), (all, bySteps) => {
        const world = lived(all);
        const states = [world.look()];
        const undone: string[] = [];
        for (const one of bySteps) {
          const id = undo(world, one ? LAST : ALL);
          if (id === undefined) break;
          undone.push(id);
          states.push(world.look());
        }
        for (const id of undone.reverse()) {
          states.pop();
          expect(undo(world, { root: ROOT, kind: 'change', change: id })).toBeDefined();
          expect(world.look()).toEqual(states.at(-1));
        }
        undo(world, ALL);
        expect(world.look()).toEqual({});
      }),
      { numRuns: rounds(75, 300) },
    );
  });

  it('a plan for one of two sessions can be executed exactly, or is refused because of the other session', () => {
    const turns = fc.array(fc.tuple(fc.constantFrom('s', 't'), change), { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(turns, fc.constantFrom('last', 'all'), fc.option(path), (all, kind, one) => {
        const world = new SmallWorld();
        for (const [session, ops] of all) world.change(session, ops);
        const key = one === null ? {} : { key: `${ROOT}/${one}` };
        const outcome = planUndo(world.entries, { root: ROOT, kind, session: 's', ...key });
        if (outcome.ok) followUnlessFull(world, outcome.plan);
        else expect(['STALE', 'NOT_FOUND']).toContain(outcome.refusal.code);
      }),
      { numRuns: rounds(250, 1000) },
    );
  });

  it('undoing all changes of a session leaves the files of another as they are, whatever was undone and redone', () => {
    const step = fc.oneof(
      { weight: 2, arbitrary: fc.tuple(fc.constantFrom('s', 't'), change) },
      { weight: 3, arbitrary: fc.nat(20) },
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 3, maxLength: 14 }), (all) => {
        const world = new SmallWorld();
        for (const each of all)
          if (typeof each === 'number') undoSome(world, each);
          else world.change(each[0], each[1].map(below(each[0])));
        const theirs = partOf(world, 't');
        const outcome = planUndo(world.entries, { ...ALL, session: 's' });
        if (outcome.ok) followOrSkip(world, outcome.plan);
        expect(partOf(world, 't')).toEqual(theirs);
      }),
      { numRuns: rounds(250, 1000) },
    );
  });
});

/**
 * Undoes the change that `number` selects, if that is possible. If that change is itself an undo,
 * this redoes the undone changes.
 */
function undoSome(world: SmallWorld, number: number): void {
  const change = world.entries[number % Math.max(1, world.entries.length)]?.change;
  if (change === undefined) return;
  const outcome = planUndo(world.entries, { root: ROOT, kind: 'change', change });
  if (outcome.ok) followOrSkip(world, outcome.plan);
}

/**
 * Executes a plan. If the plan does not fit the files, skips this random case: the gate would
 * refuse such an undo.
 */
function followOrSkip(world: SmallWorld, plan: UndoPlan): void {
  try {
    world.follow(plan, 's', 'made');
  } catch {
    fc.pre(false);
  }
}

type Op = Parameters<SmallWorld['change']>[1][number];

/** Returns a function that puts the paths of an operation into a folder. */
function below(folder: string): (op: Op) => Op {
  return (op) =>
    op.kind === 'move'
      ? { ...op, path: `${folder}/${op.path}`, to: `${folder}/${op.to}` }
      : { ...op, path: `${folder}/${op.path}` };
}

function partOf(world: SmallWorld, folder: string): readonly (readonly [string, string])[] {
  return Object.entries(world.look()).filter(
    ([path, kind]) => path.startsWith(`${folder}/`) && kind !== 'directory',
  );
}
