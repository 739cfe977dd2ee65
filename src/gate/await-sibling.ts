import { setTimeout } from 'node:timers/promises';
import type { Ledger } from '../ledger/ledger.ts';
import type { RefusalCode } from '../model/verdict.ts';
import type { Prepared } from './prepared.ts';
import type { World } from './world.ts';

/** A sighting reaches the store some milliseconds after its answer, later on a busy machine. */
const PATIENCE_MS = 250;
const STEP_MS = 10;

/** Refusals that one more sighting could turn into a yes. */
const FOR_LACK: ReadonlySet<RefusalCode> = new Set<RefusalCode>(['NOT_READ', 'PARTIALLY_READ']);

interface Judging<Change> {
  readonly changes: readonly Change[];
  judge(change: Change): Promise<Prepared>;
}

/**
 * Judges changes, and judges those again that lack a sighting as long as another process that has the session open may be
 * about to store it. A session that only one process has open is never waited for.
 */
export async function prepareWithSiblings<Change>(
  world: World,
  ledger: Ledger,
  judging: Judging<Change>,
): Promise<Prepared[]> {
  const prepared: Prepared[] = [];
  try {
    for (const change of judging.changes) prepared.push(await judging.judge(change));
    if (prepared.some(lacksSighting) && (await hasSibling(world, ledger.session)))
      await judgeAgain(ledger, judging, prepared);
    return prepared;
  } catch (error) {
    for (const each of prepared) if (each.ok) each.step.close();
    throw error;
  }
}

async function judgeAgain<Change>(
  ledger: Ledger,
  { changes, judge }: Judging<Change>,
  prepared: Prepared[],
): Promise<void> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && prepared.some(lacksSighting); waitedMs += STEP_MS) {
    await setTimeout(STEP_MS);
    ledger.fetched.clear();
    for (const [index, change] of changes.entries())
      if (lacksSighting(prepared[index])) prepared[index] = await judge(change);
  }
}

function lacksSighting(prepared: Prepared | undefined): boolean {
  return prepared?.ok === false && FOR_LACK.has(prepared.refusal.code);
}

async function hasSibling(world: World, session: string): Promise<boolean> {
  const { openIn = [] } = (await world.store.session(session)) ?? {};
  for (const owner of openIn) if (owner !== world.owner && (await world.isAlive(owner))) return true;
  return false;
}
