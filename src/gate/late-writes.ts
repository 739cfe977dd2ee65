import { clearShelf, filesOnShelf, giveBackToTell, isWritten, LateWatch, takeToTell } from '../disk/shelf.ts';
import { byPath } from '../model/delta.ts';
import type { ChangeEntry, NewEntry } from '../model/entry.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import { pathText } from '../report/bounded.ts';
import { describeNotice } from '../report/describe-notice.ts';
import { type EntryFilter, walkEntries } from '../store/store.ts';
import type { World } from './world.ts';

/** A file that a change replaced or removed, and into which another program wrote afterwards. */
export interface LateWrite {
  readonly change: string;
  readonly root: string;
  readonly path: string;
  /** Path of the replaced or removed file, which now contains the late write. */
  readonly kept: string;
}

/**
 * When this process closes a workspace, it checks at most this many of the newest changes for late
 * writes: about an hour's work.
 */
const MAX_LOOKED_AT = 1000;
/**
 * When this process closes a workspace, it first looks at this many of the newest changes. If all
 * were made before it opened the workspace, it has made no change itself and checks none.
 */
const FEW = 20;
/** A displaced file stays on the shelf for this time. */
const SHELF_MS = 24 * 3_600_000;
/** A late write that was just noticed belongs to a change of about the last minute. */
const WATCHED_MS = 2 * 60_000;

const MAX_NAMED = 3;

/**
 * Checks whether a program wrote into files that changes have replaced or removed. A program that
 * opened a file before the change does not know that its file was replaced. The late write is kept,
 * and the journal gets one notice about it.
 */
export async function noteLateWrites(world: World, filter: EntryFilter): Promise<readonly LateWrite[]> {
  world.disk.held.close();
  const written = filesOnShelf(world.disk).filter(isWritten);
  if (written.length === 0) return [];
  const displaced = displacedBy(await changesMatching(world, filter));
  const noted: LateWrite[] = [];
  for (const { file, sha256 = '' } of written) {
    const found = displaced.get(sha256);
    if (found !== undefined) noted.push(...(await note(world, file, found)));
  }
  return noted;
}

/**
 * Like `noteLateWrites`, for the newest changes since `sinceMs`. Called on close; errors are left to the next clean-up.
 */
export async function noteOwnLateWrites(world: World, sinceMs: number): Promise<void> {
  try {
    const newest = await world.store.entries({ kinds: ['change'], limit: FEW });
    const isAny = newest.some(({ atMs }) => atMs >= sinceMs);
    if (isAny) await noteLateWrites(world, { sinceMs, limit: MAX_LOOKED_AT });
  } catch (error) {
    if (!(error instanceof Fault) && errnoOf(error) === undefined) throw error;
  }
}

/** Removes what has been on the shelf for a day, after a last look for late writes. */
export async function clearOldShelf(world: World, nowMs: number): Promise<void> {
  await noteLateWrites(world, { limit: MAX_LOOKED_AT });
  clearShelf(world.disk, nowMs - SHELF_MS);
}

/**
 * Watches the files that this process displaces, so that a late write is in the journal within a
 * second.
 */
export function watchLateWrites(world: () => World): LateWatch {
  return new LateWatch(async () => {
    await noteOwnLateWrites(world(), world().now() - WATCHED_MS);
  });
}

interface DisplacedFile {
  readonly entry: ChangeEntry;
  readonly path: string;
  /**
   * Other replaced or removed files that held the same bytes. Any of them may be the file that was
   * written into.
   */
  readonly others: Set<string>;
}

async function changesMatching(
  world: World,
  { sinceMs = 0, ...filter }: EntryFilter,
): Promise<readonly ChangeEntry[]> {
  const changes: ChangeEntry[] = [];
  // Do not pass `sinceMs` to the store: to reach the filter's limit, it would search the whole
  // journal.
  for await (const entry of walkEntries(world.store, { ...filter, kinds: ['change'] }))
    if (entry.atMs >= sinceMs) changes.push(entry);
  return changes;
}

/**
 * The replaced and removed files by the hash of their bytes. If several files have equal bytes, the
 * map holds the one with the newest change and the paths of the others.
 */
function displacedBy(changes: readonly ChangeEntry[]): ReadonlyMap<string, DisplacedFile> {
  const displaced = new Map<string, DisplacedFile>();
  for (const entry of changes)
    for (const { before, relative } of byPath(entry.deltas)) {
      if (before.kind !== 'file') continue;
      const { sha256 } = before.fingerprint;
      const known = displaced.get(sha256);
      if (known === undefined) displaced.set(sha256, { entry, path: relative, others: new Set() });
      else if (known.path !== relative) known.others.add(relative);
    }
  return displaced;
}

/** Records a late write at once. If that fails, the next call finds it again. */
async function note(world: World, file: string, displaced: DisplacedFile): Promise<readonly LateWrite[]> {
  const kept = takeToTell(world.disk, file);
  if (kept === undefined) return [];
  try {
    await world.store.record({ entries: [noticeOf(world, kept, displaced)] });
  } catch (error) {
    giveBackToTell(kept, file);
    throw error;
  }
  const { entry, path } = displaced;
  return [{ change: entry.change, root: entry.root, path, kept }];
}

function noticeOf(world: World, kept: string, { entry, path, others }: DisplacedFile): NewEntry {
  const { root, session } = entry;
  const what = describeNotice({ kind: 'late-write', path, retained: kept });
  const or =
    others.size === 0 ? '' : ` Or it wrote to the replaced ${someOf(others)}, which had the same bytes.`;
  return { kind: 'notice', atMs: world.now(), session, root, path, text: `${what}${or}` };
}

function someOf(paths: ReadonlySet<string>): string {
  const shown = [...paths].slice(0, MAX_NAMED).map(pathText);
  const more = paths.size > MAX_NAMED ? [`one of ${paths.size - MAX_NAMED} others`] : [];
  return [...shown, ...more].join(' or ');
}
