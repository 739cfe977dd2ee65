import type { Effect, PendingChange, Side } from '../model/entry.ts';
import type { Store } from '../store/store.ts';
import { sameContent, sameSide } from './side.ts';

/**
 * `done` and `partly` are in the journal now and can be undone; of a `partly` done change only what was done.
 * `not-done` left everything as it was. `unclear` could not be looked at and stays for the next start.
 */
export interface RecoveredChange {
  readonly change: string;
  readonly outcome: 'done' | 'partly' | 'not-done' | 'unclear';
  readonly effects: readonly Effect[];
}

export interface RecoveryOptions {
  readonly store: Store;
  readonly isAlive: (owner: string) => boolean;
  /** What is at a key now. Throws if that cannot be told. */
  readonly sideOf: (key: string) => Promise<Side>;
  readonly now: () => number;
}

/**
 * Settles changes whose process died before it could. Two starts may do this at the same time: each change is settled
 * once. Changes of other workspaces are told apart by `sideOf`, which throws for keys it has no business with.
 */
export async function recoverChanges(options: RecoveryOptions): Promise<readonly RecoveredChange[]> {
  const recovered: RecoveredChange[] = [];
  for (const pending of await options.store.pending()) {
    if (!options.isAlive(pending.owner)) recovered.push(await recoverOne(options, pending));
  }
  return recovered;
}

async function recoverOne(options: RecoveryOptions, pending: PendingChange): Promise<RecoveredChange> {
  const { change, entry } = pending;
  const announced = entry.effects ?? [];
  const effects = await effectsDone(options, announced);
  if (effects === undefined) return { change, outcome: 'unclear', effects: announced };
  const settled = { ifPending: change, settle: [change] };
  if (effects.length === 0) {
    await options.store.record(settled);
    return { change, outcome: 'not-done', effects };
  }
  await options.store.record({
    ...settled,
    entries: [{ ...entry, atMs: options.now(), effects, recovered: true }],
  });
  return { change, outcome: effects.length === announced.length ? 'done' : 'partly', effects };
}

/** Undefined if one of them cannot be looked at. */
async function effectsDone(
  { sideOf }: RecoveryOptions,
  effects: readonly Effect[],
): Promise<Effect[] | undefined> {
  const done: Effect[] = [];
  for (const effect of effects) {
    let current: Side;
    try {
      current = await sideOf(effect.key);
    } catch {
      return undefined;
    }
    if (!isUntouched(effect, current)) done.push(effect);
  }
  return done;
}

/**
 * Only what is exactly as before counts as not done. If it is neither as before nor as intended, someone came after
 * the crash: the effect goes into the journal, so that its before-image stays, and an undo will see the difference.
 */
function isUntouched({ before, after }: Effect, current: Side): boolean {
  return sameContent(before, after) ? sameSide(before, current) : sameContent(before, current);
}
