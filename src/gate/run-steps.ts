import { dirname } from 'node:path';
import { BATCH_FILES, batchContext, severalContext } from '../disk/context.ts';
import type { Policy } from '../model/policy.ts';
import type { Refusal } from '../model/verdict.ts';
import { conflictRefusal } from './conflict-refusal.ts';
import type { Done, Step } from './step.ts';
import type { World } from './world.ts';

export interface DoneStep {
  readonly step: Step;
  readonly outcome: Done;
}

/**
 * Returns the world for a change of `files` files: many files are synced together, unless each must be complete before
 * the next is written (`in order`). The steps and `carryOut` must get the same world.
 */
export async function worldFor(
  world: World,
  files: number,
  how: 'together' | 'in order' = 'together',
): Promise<World> {
  const { disk } = world;
  if (files < 2 || disk.batch !== undefined) return world;
  const isBatch = how === 'together' && files >= BATCH_FILES && (await disk.sync.works(disk.retained));
  return { ...world, disk: isBatch ? batchContext(disk) : severalContext(disk) };
}

/**
 * Runs the steps in order and returns the refusal of the one that failed, if any. `done` collects the completed steps.
 * In a batch, all new bytes are written and synced before the first file changes, and all names are synced after the
 * last.
 */
export async function runSteps(
  world: World,
  steps: readonly Step[],
  done: DoneStep[],
): Promise<Refusal | undefined> {
  if (world.disk.batch === undefined) return runAll(world, steps, done);
  try {
    world.disk.litter.expect(steps.map(({ path }) => dirname(path.absolute)));
    for (const step of steps) await step.stage?.();
    await syncAll(world, steps);
    const refusal = await runAll(world, steps, done);
    if (refusal === undefined) await syncAll(world, steps);
    return refusal;
  } finally {
    // Last step first: a folder that an early step made for several files is empty only after the others.
    for (const step of steps.toReversed()) await step.unstage?.();
  }
}

async function runAll(
  { locks }: World,
  steps: readonly Step[],
  done: DoneStep[],
): Promise<Refusal | undefined> {
  for (const step of steps) {
    locks.mustHold?.();
    const outcome = await step.run();
    if (!outcome.ok) return conflictRefusal(step, outcome);
    done.push({ step, outcome });
  }
  return undefined;
}

async function syncAll({ disk }: World, steps: readonly Step[]): Promise<void> {
  if (disk.batch === 'none') return;
  await disk.sync.sync([disk.retained, ...new Set(steps.map(({ path }) => path.root))]);
}

/** Policy settings that one call may change for itself. */
export type CallSettings = Partial<Pick<Policy, 'seen' | 'staleness'>>;

export function withSettings(world: World, settings: CallSettings | undefined): World {
  return settings === undefined ? world : { ...world, policy: { ...world.policy, ...settings } };
}
