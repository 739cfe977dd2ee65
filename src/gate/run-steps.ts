import { dirname } from 'node:path';
import { changeFailed } from '../disk/context.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import type { Refusal } from '../model/verdict.ts';
import { conflictRefusal, type DoneStep, type Step } from './step.ts';
import type { World } from './world.ts';

/** The parts of the gate's shared objects (`World`) that running steps needs. */
type StepWorld = Pick<World, 'disk' | 'locks'>;

/** The steps of a change, and file descriptors that were reserved for reverting these steps. */
interface ReservedSteps {
  readonly steps: readonly Step[];
  /**
   * Closes the file descriptors that were reserved for reverting steps and for removing temporary
   * files.
   */
  readonly freeReserve: () => void;
}

/**
 * Runs the steps in order and returns the refusal of the one that failed, if any. `done` collects
 * the completed steps. In a batch, all new bytes are written and synced before the first file
 * changes. After the last change, all changed names are synced.
 */
export function runSteps(
  world: StepWorld,
  { steps, freeReserve }: ReservedSteps,
  done: DoneStep[],
): Promise<Refusal | undefined> {
  return world.disk.batch === undefined
    ? runAll(world, steps, done)
    : runBatch(world, { steps, freeReserve }, done);
}

async function runBatch(
  world: StepWorld,
  { steps, freeReserve }: ReservedSteps,
  done: DoneStep[],
): Promise<Refusal | undefined> {
  try {
    world.disk.litter.expect(steps.map(({ path }) => dirname(path.absolute)));
    for (const step of steps) await step.stage?.();
    // If no step writes temporary files, there is nothing to sync yet.
    if (steps.some(({ stage }) => stage !== undefined)) await syncAll(world, steps);
    const refusal = await runAll(world, steps, done);
    if (refusal === undefined) await syncAll(world, steps);
    else freeReserve();
    return refusal;
  } catch (error) {
    freeReserve();
    const [first] = steps;
    throw first === undefined || errnoOf(error) === undefined
      ? error
      : changeFailed(world.disk, error, first.path);
  } finally {
    await unstageAll(world, steps);
  }
}

/**
 * Removes the temporary files that were not renamed to their final names. Starts with the last
 * step, because an earlier step may have made the folder of a later one. A file that cannot be
 * removed now is removed at the next start of Lookfirst.
 */
async function unstageAll({ disk }: StepWorld, steps: readonly Step[]): Promise<void> {
  for (const step of steps.toReversed())
    try {
      await step.unstage?.();
    } catch (error) {
      if (!(error instanceof Fault) && errnoOf(error) === undefined) throw error;
      disk.litter.doubt();
    }
}

async function runAll(
  { locks }: StepWorld,
  steps: readonly Step[],
  done: DoneStep[],
): Promise<Refusal | undefined> {
  for (const step of steps) {
    locks.mustHold?.();
    const outcome = await step.run();
    if (!outcome.ok) return conflictRefusal(step, outcome);
    done.push({ step, outcome });
  }
  for (const step of steps.toReversed()) step.finish?.();
  return undefined;
}

async function syncAll({ disk }: StepWorld, steps: readonly Step[]): Promise<void> {
  if (disk.batch === 'none') return;
  await disk.sync.sync([disk.retained, ...new Set(steps.map(({ path }) => path.root))]);
}

interface StagedEarly {
  /** Resolves when the new bytes are written and synced; rejects if that failed. */
  readonly staged: Promise<void>;
  /** Removes the temporary file with the new bytes, unless it already has its final name. */
  readonly unstage: () => Promise<void>;
}

/**
 * Writes and syncs the new bytes of a single replacement while the store syncs the planned change.
 * Both syncs must be complete before the new file replaces the old one, but their order does not
 * matter. Undefined if nothing is synced, or if the step must wait for the store.
 */
export function stagedEarly({ disk }: StepWorld, [step, ...more]: readonly Step[]): StagedEarly | undefined {
  if (step?.stagesEarly !== true || more.length > 0) return undefined;
  if (disk.durability !== 'full' || disk.batch !== undefined) return undefined;
  const staged = step.stage?.('alone') ?? Promise.resolve();
  // The caller awaits `staged` only after the planned change is stored. Without this handler, an
  // earlier failure would be an unhandled rejection.
  const ended = staged.catch(() => undefined);
  return { staged, unstage: () => ended.then(() => step.unstage?.()) };
}
