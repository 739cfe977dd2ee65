import type { Effect, NewEntry, PendingChange, Side } from '../model/entry.ts';
import type { Store } from '../store/store.ts';
import { sameContent, sameSide } from './side.ts';

/**
 * `done` and `partly` are in the journal now and can be undone; of a `partly` done change only what was done.
 * `not-done` left everything as it was, or was taken back. `unclear` could not be looked at and stays for the next start.
 */
export interface RecoveredChange {
  readonly change: string;
  readonly outcome: 'done' | 'partly' | 'not-done' | 'unclear';
  readonly effects: readonly Effect[];
}

/** An effect that a dead process has begun. */
export interface Begun {
  readonly effect: Effect;
  /** What is there. */
  readonly current: Side;
  /** `gap`: what was there is gone, and nothing has come in its place. */
  readonly state: 'done' | 'gap';
}

export interface RecoveryOptions {
  readonly store: Store;
  /** What is at a key now. Throws if that cannot be told. */
  readonly sideOf: (key: string) => Promise<Side>;
  /** Brings back what was there before a change that was only begun, as far as nobody has changed it since. */
  readonly takeBack: (begun: readonly Begun[]) => Promise<void>;
  readonly now: () => number;
}

/**
 * Settles a change whose process died before it could: in the journal if it was done, taken back if it was only begun.
 * Call it under the locks of the change. Two starts may find the same one: it is settled once.
 */
export async function recoverChange(
  options: RecoveryOptions,
  { change, entry, locked }: PendingChange,
): Promise<RecoveredChange> {
  const announced = entry.effects ?? [];
  let begun = await lookAt(options, announced);
  if (begun !== undefined && locked !== undefined && isOnlyBegun(announced, begun)) {
    await options.takeBack(begun);
    begun = (await lookAt(options, announced))?.filter(({ effect }) => !isMadeFolder(effect));
  }
  if (begun === undefined) return { change, outcome: 'unclear', effects: announced };
  const effects = begun.map(asItIs);
  await options.store.record({
    ifPending: change,
    settle: [change],
    ...(effects.length === 0
      ? {}
      : { entries: [{ ...entryFor(entry, effects), atMs: options.now(), recovered: true }] }),
  });
  if (effects.length === 0) return { change, outcome: 'not-done', effects };
  return { change, outcome: effects.length < meant(announced).length ? 'partly' : 'done', effects };
}

/** The effects that were begun, in their order; undefined if one of them cannot be looked at. */
async function lookAt({ sideOf }: RecoveryOptions, effects: readonly Effect[]): Promise<Begun[] | undefined> {
  const begun: Begun[] = [];
  /** Effects are carried out in order: what comes after one that was not begun was not begun either. */
  let stopped: Effect | undefined;
  for (const effect of effects) {
    let current: Side;
    try {
      current = await sideOf(effect.key);
    } catch {
      return undefined;
    }
    if (isUntouched(effect, current)) {
      if (!isIdle(effect)) stopped ??= effect;
    } else if (isGap(effect, current, effects) && (stopped === undefined || stopped.movedTo === effect.key))
      begun.push({ effect, current, state: 'gap' });
    else if (stopped === undefined || sameContent(effect.after, current))
      begun.push({ effect, current, state: 'done' });
  }
  return begun;
}

function isOnlyBegun(announced: readonly Effect[], begun: readonly Begun[]): boolean {
  if (begun.length === 0) return false;
  return begun.length < meant(announced).length || begun.some(({ state }) => state === 'gap');
}

/** The effects that were to make a difference. */
function meant(effects: readonly Effect[]): readonly Effect[] {
  return effects.filter((effect) => !isIdle(effect));
}

/**
 * Only what is exactly as before counts as not done. If it is neither as before nor as intended, someone came after
 * the crash: the effect goes into the journal, so that its before-image stays, and an undo will see the difference.
 */
function isUntouched({ before, after }: Effect, current: Side): boolean {
  return sameContent(before, after) ? sameSide(before, current) : sameContent(before, current);
}

/** Leaves things as they are, as far as was known when it was announced. */
function isIdle({ before, after }: Effect): boolean {
  return sameSide(before, after);
}

/** A file is exchanged for another without a gap; something moved here, or of another kind, needs the place free first. */
function isGap({ key, before, after }: Effect, current: Side, effects: readonly Effect[]): boolean {
  if (current.kind !== 'absent' || before.kind === 'absent' || after.kind === 'absent') return false;
  return before.kind !== after.kind || effects.some((other) => other.movedTo === key);
}

/** Others may be using a folder by now that was made on the way. */
function isMadeFolder({ before, after }: Effect): boolean {
  return before.kind === 'absent' && after.kind === 'directory';
}

/** What another program would do was not known beforehand. */
function asItIs({ effect, current }: Begun): Effect {
  return isIdle(effect)
    ? { ...effect, after: current.kind === 'file' ? { ...current, kept: false } : current }
    : effect;
}

/** Of an undo that was done in part, only that part is undone. */
function entryFor(entry: NewEntry, effects: readonly Effect[]): NewEntry {
  const { undone } = entry;
  if (undone === undefined || effects.length === entry.effects?.length) return { ...entry, effects };
  return { ...entry, effects, undone: { ...undone, keys: effects.map(({ key }) => key) } };
}
