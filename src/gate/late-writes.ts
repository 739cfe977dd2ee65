import { fingerprintOfRetained, type IsClaimed, listRetained, type RetainedFile } from '../disk/retained.ts';
import { imagesOfPending } from '../journal/gc.ts';
import type { Entry, NewEntry } from '../model/entry.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { pathText } from '../report/bounded.ts';
import { describeNotice } from '../report/describe-notice.ts';
import type { LateImage } from '../store/images.ts';
import { type EntryFilter, walkEntries } from '../store/store.ts';
import { keepBytesOf } from './old-bytes.ts';
import type { World } from './world.ts';

/** A file that a change replaced or removed, and into which another program wrote afterwards. */
export interface LateWrite {
  readonly change: string;
  readonly root: string;
  readonly path: string;
  /** Path of the replaced or removed file, which now contains the late write. */
  readonly kept: string;
  /** True if the late write overwrote the only copy of the bytes before the change; they cannot be restored. */
  readonly lost: boolean;
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

const MAX_NAMED = 3;

/**
 * Checks whether a program wrote into files that changes have replaced or removed. A program that
 * opened a file before the change does not know that its file was replaced. The late write is kept,
 * and the journal gets one notice about it.
 */
export async function noteLateWrites(world: World, filter: EntryFilter): Promise<readonly LateWrite[]> {
  // Store the cached bytes that sessions were shown. If they have a stored copy, a late write into
  // the file loses nothing.
  await world.baselines.settled();
  world.disk.held.close();
  const displaced = await displacedBy(world, filter);
  const noted: LateWrite[] = [];
  // Record each notice at once. If that fails, the next call finds the same late write again.
  const note = async (image: LateImage): Promise<void> => {
    const notice = noticeOf(world, image, displaced.get(image.sha256));
    if (notice === undefined) return;
    await world.store.record({ entries: [notice.entry] });
    noted.push(notice.write);
  };
  for (const { file, lateOf } of listRetained(world.disk, claimedFolders(world)))
    if (lateOf !== undefined && displaced.has(lateOf) && !world.images.adoptLate(file, lateOf))
      await note({ sha256: lateOf, file, lost: false });
  const fingerprints = [...displaced.values()].map(({ fingerprint }) => fingerprint);
  for await (const image of world.images.setAsideLate(fingerprints))
    await note({
      ...image,
      lost: image.lost && !(await isKeptAgain(world, displaced.get(image.sha256))),
    });
  return noted;
}

/**
 * Like `noteLateWrites`, for the newest changes since `sinceMs`. Called on close; errors are left to the next clean-up.
 */
export async function noteOwnLateWrites(world: World, sinceMs: number): Promise<void> {
  try {
    const newest = await world.store.entries({ kinds: ['change'], limit: FEW });
    const isAny = newest.some(({ atMs }) => atMs >= sinceMs);
    await noteLateWrites(world, { sinceMs, limit: isAny ? MAX_LOOKED_AT : 0 });
  } catch (error) {
    if (!(error instanceof Fault) && errnoOf(error) === undefined) throw error;
  }
}

/**
 * Returns a test for folders that were moved out of the workspace. The test is true if an undo can
 * restore files from the folder, so that a clean-up must not delete it.
 */
export function claimedFolders({ images }: Pick<World, 'images'>): IsClaimed {
  return (folder) => images.holdsTree?.(folder) === true;
}

interface DisplacedFile {
  readonly fingerprint: Fingerprint;
  readonly entry: Entry;
  readonly path: string;
  /**
   * Other replaced or removed files that held the same bytes. Any of them may be the file that was
   * written into.
   */
  readonly others: Set<string>;
}

/**
 * The replaced and removed files by the hash of their bytes. Of files with equal bytes, the map
 * holds the one with the newest change and names the paths of the others.
 */
async function displacedBy(
  world: World,
  { sinceMs = 0, ...filter }: EntryFilter,
): Promise<ReadonlyMap<string, DisplacedFile>> {
  const displaced = new Map<string, DisplacedFile>();
  // Do not pass `sinceMs` to the store: to reach the filter's limit, it would search the whole
  // journal.
  for await (const entry of walkEntries(world.store, { ...filter, kinds: ['change'] }))
    if (entry.atMs >= sinceMs) addDisplaced(displaced, entry);
  return displaced;
}

function addDisplaced(displaced: Map<string, DisplacedFile>, entry: Entry): void {
  for (const { before, relative } of entry.effects ?? []) {
    if (before.kind !== 'file' || !before.kept) continue;
    const { fingerprint } = before;
    const known = displaced.get(fingerprint.sha256);
    if (known === undefined)
      displaced.set(fingerprint.sha256, { fingerprint, entry, path: relative, others: new Set() });
    else if (known.path !== relative) known.others.add(relative);
  }
}

/** Stores a file's old bytes again if this process still caches them. Returns true if it did. */
async function isKeptAgain(world: World, displaced: DisplacedFile | undefined): Promise<boolean> {
  const bytes = displaced && world.baselines.peek(displaced.fingerprint);
  if (displaced === undefined || bytes === undefined) return false;
  await keepBytesOf(world, displaced.path, { bytes, fingerprint: displaced.fingerprint });
  return true;
}

function noticeOf(
  world: World,
  { file, lost }: LateImage,
  displaced: DisplacedFile | undefined,
): { readonly write: LateWrite; readonly entry: NewEntry } | undefined {
  if (displaced === undefined) return undefined;
  const { entry, path, others } = displaced;
  const { root, session, change = '' } = entry;
  const what = describeNotice({ kind: 'late-write', path, retained: file });
  const or =
    others.size === 0 ? '' : ` Or it wrote to the replaced ${someOf(others)}, which had the same bytes.`;
  const over = lost
    ? ` It overwrote the only copy of the content before change ${change}, so that content is lost.`
    : '';
  return {
    write: { change, root, path, kept: file, lost },
    entry: { kind: 'notice', atMs: world.now(), session, root, path, text: `${what}${or}${over}` },
  };
}

function someOf(paths: ReadonlySet<string>): string {
  const shown = [...paths].slice(0, MAX_NAMED).map(pathText);
  const more = paths.size > MAX_NAMED ? [`one of ${paths.size - MAX_NAMED} others`] : [];
  return [...shown, ...more].join(' or ');
}

/**
 * Files that were moved out of the workspace more than `olderThanMs` ago and that no undo uses.
 * They remain if a process was killed, or if two programs changed a file at once. Leaves out files
 * that a pending change may still need.
 */
export async function oldLeftovers(
  world: World,
  { olderThanMs, nowMs }: { readonly olderThanMs: number; readonly nowMs: number },
): Promise<readonly RetainedFile[]> {
  const old = listRetained(world.disk, claimedFolders(world)).filter(
    (file) => file.sinceMs < nowMs - olderThanMs,
  );
  if (old.length === 0) return old;
  const needed = imagesOfPending(await world.store.pending());
  if (needed.size === 0) return old;
  return old.filter((file) => !needed.has(fingerprintOfRetained(file)?.sha256 ?? ''));
}
