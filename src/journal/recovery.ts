import {
  type Effect,
  type NewEntry,
  type PendingChange,
  type Side,
  sameContent,
  sameSide,
} from '../model/entry.ts';
import type { Store } from '../store/store.ts';

/**
 * The result of recovery. `done` and `partly` are now in the journal and can be undone; `partly`
 * includes only the effects that were done. `not-done`: nothing changed, or it was taken back.
 * `unclear`: the files could not be read, so the change stays for the next start.
 */
export interface RecoveredChange {
  readonly change: string;
  readonly outcome: 'done' | 'partly' | 'not-done' | 'unclear';
  readonly effects: readonly Effect[];
}

/** An effect that a dead process began. */
export interface Begun {
  readonly effect: Effect;
  /** The current state of the path. */
  readonly current: Side;
  /** `gap`: the old file is gone and the new one is not there yet. */
  readonly state: 'done' | 'gap';
}

interface RecoveryOptions {
  readonly store: Store;
  /** The current state at a key. Throws if it cannot be determined. */
  readonly sideOf: (key: string) => Promise<Side>;
  /** Restores the state before a change that was only begun, except where others have changed it since. */
  readonly takeBack: (begun: readonly Begun[]) => Promise<void>;
  readonly now: () => number;
}

/**
 * Settles a change whose process died: records it if it was done, takes it back if it was only
 * begun. Call while holding the locks of the change. If two starts find the same change, it is
 * settled once.
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

/** The effects that were begun, in order; undefined if the state of one cannot be read. */
async function lookAt({ sideOf }: RecoveryOptions, effects: readonly Effect[]): Promise<Begun[] | undefined> {
  const begun: Begun[] = [];
  /** The first effect not begun. Effects run in order, so later ones were not begun either. */
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

/** The effects that would change something. */
function meant(effects: readonly Effect[]): readonly Effect[] {
  return effects.filter((effect) => !isIdle(effect));
}

/**
 * True only if the state is exactly as before. If it is neither as before nor as intended, another
 * process changed it after the crash. Such an effect is recorded, so that its before-image is kept
 * and an undo detects the difference.
 */
function isUntouched({ before, after }: Effect, current: Side): boolean {
  return sameContent(before, after) ? sameSide(before, current) : sameContent(before, current);
}

/** True if the effect changes nothing, as far as was known when it was announced. */
function isIdle({ before, after }: Effect): boolean {
  return sameSide(before, after);
}

/**
 * True if the path is empty in the middle of an effect. Replacing a file leaves no gap; a move, or
 * a change of kind, empties the path first.
 */
function isGap({ key, before, after }: Effect, current: Side, effects: readonly Effect[]): boolean {
  if (current.kind !== 'absent' || before.kind === 'absent' || after.kind === 'absent') return false;
  return before.kind !== after.kind || effects.some((other) => other.movedTo === key);
}

/** True for a folder created on the way. Other processes may use it by now, so it is not taken back. */
function isMadeFolder({ before, after }: Effect): boolean {
  return before.kind === 'absent' && after.kind === 'directory';
}

/** The effect with its actual result: for effects of another program, that was unknown beforehand. */
function asItIs({ effect, current }: Begun): Effect {
  return isIdle(effect)
    ? { ...effect, after: current.kind === 'file' ? { ...current, kept: false } : current }
    : effect;
}

/** The journal entry for the effects that were done. A partial undo lists only these keys as undone. */
function entryFor(entry: NewEntry, effects: readonly Effect[]): NewEntry {
  const { undone } = entry;
  if (undone === undefined || effects.length === entry.effects?.length) return { ...entry, effects };
  return { ...entry, effects, undone: { ...undone, keys: effects.map(({ key }) => key) } };
}
