import { randomUUID } from 'node:crypto';
import type { Ledger } from '../ledger/ledger.ts';
import { joinWrites } from '../ledger/merge-sighting.ts';
import type { NewEntry, PendingChange } from '../model/entry.ts';
import { Fault, nothingChanged } from '../model/fault.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Writes } from '../store/store.ts';
import { imagesToAnnounce, keepImages } from './keep-images.ts';
import type { Displaced, Step } from './step.ts';
import type { World } from './world.ts';

/** Returns a new change id, short enough to type after `lookfirst undo`. */
export function newChangeId(): string {
  // `randomUUID` draws from a pool of random bytes: a hundred times as fast as requesting a few bytes.
  return `c${randomUUID().replace('-', '').slice(0, 10)}`;
}

/**
 * Stores a change before any file is touched, so that another process can settle it if this one dies. Changes of the
 * gate and of other programs all pass here. Returns false if the journal could not be written and the policy allows
 * changes without it.
 */
export async function announce(
  world: World,
  pending: PendingChange,
  entries: readonly NewEntry[] = [],
): Promise<boolean> {
  try {
    const images = await imagesToAnnounce(world, pending.entry.effects ?? []);
    await world.store.record({
      announce: pending,
      ...(entries.length === 0 ? {} : { entries }),
      ...(images === undefined ? {} : { images }),
    });
    if (images !== undefined) world.images.announced?.(images);
    return true;
  } catch (error) {
    return goOnUnrecorded(world, nothingChanged(error));
  }
}

/** The result of an announced change, to be recorded. */
export interface Settlement {
  readonly change: string;
  /** False if nothing was announced; then no journal entry is written. */
  readonly announced: boolean;
  readonly entries: readonly NewEntry[];
  /** Files that left the workspace, to be kept as before-images. */
  readonly displaced?: readonly Displaced[];
  /** The session's sightings after the change. */
  readonly sightings: readonly Sighting[];
  /** Keys of files that the session knows to be gone. */
  readonly tombstones: readonly string[];
}

/**
 * Ends an announcement: stores images first, then entries and sightings in one transaction. Returns false if they could
 * not be written and the policy allows changes without them. The caller must hold the locks of the change.
 */
export async function settle(world: World, ledger: Ledger, settlement: Settlement): Promise<boolean> {
  const { change, announced, entries, displaced = [], sightings, tombstones } = settlement;
  const journal: Writes = announced ? { entries, settle: [change] } : {};
  try {
    await keepImages(world, displaced);
    const gone = await ledger.tombstoneWrites(tombstones, world.now());
    await ledger.record(sightings, joinWrites(journal, gone));
    world.images.makePrivate(displaced.map(({ sha256 }) => sha256));
    return announced;
  } catch (error) {
    return goOnUnrecorded(world, error);
  }
}

function goOnUnrecorded({ policy }: World, error: unknown): false {
  if (policy.auditFailure === 'refuse' || !(error instanceof Fault)) throw error;
  return false;
}

/** Journal entries for the operator's bypass: one for each step that used it, with the session and time of `like`. */
export function bypassEntries(
  steps: readonly Pick<Step, 'action' | 'path' | 'notices'>[],
  like: Pick<NewEntry, 'session' | 'turn' | 'atMs' | 'change'>,
): readonly NewEntry[] {
  return steps.flatMap(({ action, path, notices = [] }) => {
    const used = notices.find((notice) => notice.kind === 'bypassed');
    if (used === undefined) return [];
    const { root, relative, key } = path;
    const text = `allowed by the operator's bypass for ${used.glob}`;
    const grant = used.grant === undefined ? {} : { grant: { id: used.grant } };
    return [{ ...like, kind: 'bypass', action, root, path: relative, key, text, ...grant }];
  });
}
