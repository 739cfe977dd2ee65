import { type Content, type Expected, holdsAt } from '../disk/content.ts';
import { type DiskContext, unbatched } from '../disk/context.ts';
import { makeOneFolder, removeFolder, setFolderMode } from '../disk/folders.ts';
import { move } from '../disk/move.ts';
import { clearTemps } from '../disk/names.ts';
import { remove, removeLink } from '../disk/remove.ts';
import {
  type Committed,
  type Conflict,
  conflict,
  create,
  makeLink,
  type NewContent,
  replace,
  setFileMode,
  stageFile,
} from '../disk/replace.ts';
import { dropStaged, type Staged } from '../disk/temp-file.ts';
import { ABSENT, type State, sameContent, sameState } from '../model/delta.ts';
import { type Fingerprint, sameStamp } from '../model/fingerprint.ts';
import type { Place, ResolvedPath } from '../model/path.ts';
import type { Found, Located } from '../workspace/workspace.ts';
import { type Displaced, keptContent } from './announce.ts';
import { isBelowNoFolder } from './found.ts';
import type { PlannedDelta } from './plan.ts';
import type { World } from './world.ts';

/** The result of applying one delta. */
export interface AppliedDelta {
  readonly ok: true;
  /** The replaced or removed file, already moved out of the workspace. */
  readonly displaced?: Displaced | undefined;
  /** The new file. */
  readonly committed?: Committed | undefined;
  /** The mode of a folder that was made with the default mode. */
  readonly folderMode?: number;
  /** Set if a folder that should be removed stayed, because it is not empty. */
  readonly stayed?: true;
  /** Set if nothing was done, because the folder was created or removed already. */
  readonly idle?: true;
}

interface ApplyHow {
  /**
   * Set if this process has just written the present content. That content may then be discarded if
   * there is no space to keep it.
   */
  readonly ours?: true;
  /** The temporary file next to the target that already holds the new bytes. */
  readonly staged?: Staged | undefined;
}
type Applying = PlannedDelta & ApplyHow;

const APPLIED: AppliedDelta = { ok: true };

/**
 * Applies one delta, if its path is in the state `before`: the only code that changes a workspace.
 * The folder around the path must exist. After a conflict or a Fault nothing has changed. A folder's
 * mode lets the owner change its contents until `closeFolder`.
 */
export function applyDelta(
  world: World,
  delta: PlannedDelta,
  how: ApplyHow = {},
): Promise<AppliedDelta | Conflict> {
  if (delta.movedFrom === undefined && sameState(delta.before, delta.after)) return Promise.resolve(APPLIED);
  const applying = { ...delta, ...how };
  return atDelta(world, delta, (located) => applyAt(world, located, applying), conflict('changed'));
}

function applyAt(world: World, found: Located, delta: Applying): Promise<AppliedDelta | Conflict> {
  const located = delta.ours === undefined ? found : openingOwn(found);
  if (delta.movedFrom !== undefined) return moveHere(world, delta, located);
  if (sameContent(delta.before, delta.after)) return Promise.resolve(changeMode(located, delta));
  if (isFolderAsMeant(located, delta)) return Promise.resolve({ ...APPLIED, idle: true });
  return isReplaced(delta) ? replaceFile(world, located, delta) : takeAndPut(world, located, delta);
}

/**
 * Runs `work` with the located path of a delta. Returns `otherwise` if the path cannot be reached, or
 * if a link has replaced a parent folder: the path then leads to another file, which must stay.
 */
export function atDelta<T>(
  { workspace }: World,
  { key, path }: Pick<PlannedDelta, 'key' | 'path'>,
  work: (located: Located) => T | Promise<T>,
  otherwise: T,
): Promise<T> {
  // Do not locate the key: on file systems that ignore case it has only lower-case letters, and a new
  // file would get that name. Faults name the path as the caller wrote it.
  return workspace.at<T>(
    { path: path.absolute, action: 'undo', links: 'parents' },
    (located) => {
      const { place } = located;
      const named = { ...place.path, given: path.given };
      return place.path.key === key ? work({ ...located, place: { ...place, path: named } }) : otherwise;
    },
    () => otherwise,
  );
}

/**
 * The place of a file that this process has just written, with permission to open the file even if
 * its mode forbids that.
 */
function openingOwn(located: Located): Located {
  return { ...located, place: { ...located.place, opensOwn: true } };
}

function moveHere(world: World, delta: PlannedDelta, to: Located): Promise<AppliedDelta | Conflict> {
  const { key, relative } = delta.movedFrom ?? delta;
  const from = world.workspace.named(key, relative);
  const moveFrom = async (source: Located): Promise<AppliedDelta | Conflict> => {
    if (!source.exists) return conflict('missing');
    if (to.exists) return conflict('exists');
    if (to.missing.length > 1 || !isMoving(source, delta)) return conflict('changed');
    const moved = await move(world.disk, source.place, to.place);
    return moved.ok ? APPLIED : moved;
  };
  // A fault names the path that failed: the source as the next call can use it.
  const path = { ...from, given: world.workspace.shown(from) };
  return atDelta(world, { key, path }, moveFrom, conflict('changed'));
}

/** True if the entry may move: it has the planned kind and, if it is a file, the planned bytes. */
function isMoving({ place, stats }: Found, { after, stamp }: PlannedDelta): boolean {
  if (after.kind === 'directory') return stats.isDirectory();
  if (after.kind !== 'file') return stats.isSymbolicLink();
  return (stamp !== undefined && sameStamp(stamp, stats)) || holdsAt(place, after.fingerprint);
}

/**
 * True if a folder already is in the wanted state. A folder has no content, so it does not matter which program made or
 * removed it.
 */
function isFolderAsMeant(located: Located, { before, after }: PlannedDelta): boolean {
  if (after.kind === 'directory')
    return before.kind === 'absent' && located.exists && located.stats.isDirectory();
  return after.kind === 'absent' && before.kind === 'directory' && !located.exists;
}

/** Changes only the permissions, because the content is already right. */
function changeMode({ place }: Located, { before, after }: PlannedDelta): AppliedDelta | Conflict {
  if (after.kind === 'file' && before.kind === 'file') {
    const changed = setFileMode(place, after.mode, { fingerprint: before.fingerprint });
    return changed.ok ? APPLIED : changed;
  }
  if (after.kind !== 'directory') return APPLIED;
  const folder = place.dir.enter(place.name);
  setFolderMode(folder, after.mode | OWNER);
  folder.close();
  return APPLIED;
}

/** Permissions that an ordinary user needs to change the contents of a folder. */
const OWNER = 0o700;

/** Gives a folder its own mode, after the last delta of the change. */
export async function closeFolder(world: World, { key, path, after }: PlannedDelta): Promise<void> {
  const close = (located: Located): void => {
    if (!located.exists || !located.stats.isDirectory() || after.kind !== 'directory') return;
    const folder = located.place.dir.enter(located.place.name);
    setFolderMode(folder, after.mode);
    folder.close();
  };
  await atDelta(world, { key, path }, close, undefined);
}

/** True if a folder does not yet have its own mode. */
export function isOpenFolder({ after, movedFrom }: PlannedDelta): boolean {
  return after.kind === 'directory' && (after.mode & OWNER) !== OWNER && movedFrom === undefined;
}

/** Removes the present state of a path, then makes the new one. */
async function takeAndPut(world: World, located: Located, delta: Applying): Promise<AppliedDelta | Conflict> {
  const taken = await takeAway(world, located, delta);
  if (!taken.ok || taken.stayed || delta.after.kind === 'absent') return taken;
  const put = await putThere(world, located, delta);
  return put.ok && taken.displaced !== undefined ? { ...put, displaced: taken.displaced } : put;
}

/** Removes the present content to make room. */
async function takeAway(
  world: World,
  located: Located,
  { before, after, ours, was, mode }: Applying,
): Promise<AppliedDelta | Conflict> {
  if (located.exists !== (before.kind !== 'absent')) return conflict(located.exists ? 'exists' : 'missing');
  switch (before.kind) {
    case 'absent':
      return APPLIED;
    case 'directory':
      return takeFolderAway(world, located.place, { after, mode });
    case 'link': {
      const removed = await removeLink(world.disk, located.place, before.target);
      return removed.ok ? APPLIED : removed;
    }
    case 'file': {
      const expected = expectedOf(before, { was, mode });
      const removed = await remove(world.disk, located.place, { ...expected, ours });
      return removed.ok ? { ...APPLIED, displaced: displacedOf(removed.displaced, before) } : removed;
    }
    default:
      return before satisfies never;
  }
}

async function takeFolderAway(
  world: World,
  place: Place,
  { after, mode }: Pick<PlannedDelta, 'after' | 'mode'>,
): Promise<AppliedDelta | Conflict> {
  if (await removeFolder(world.disk, place)) return APPLIED;
  // Another program has filled the folder since. If its path is needed, report a conflict.
  return after.kind === 'absent' && mode === 'asBefore' ? { ...APPLIED, stayed: true } : conflict('changed');
}

type StoredFile = Extract<State, { kind: 'file' }>;

/**
 * The conditions under which a file may be replaced. Only a delta that restores an earlier state
 * replaces a file that was left read-only.
 */
function expectedOf({ fingerprint, mode }: StoredFile, delta: Pick<PlannedDelta, 'was' | 'mode'>): Expected {
  const evenReadOnly = delta.mode === 'asBefore' && (mode & 0o222) === 0;
  return { fingerprint, evenReadOnly, ...(delta.was && { bytes: delta.was.bytes }) };
}

function displacedOf(file: string | undefined, { fingerprint }: StoredFile): Displaced | undefined {
  return file === undefined ? undefined : { file, ...fingerprint };
}

/** Writes the new state. If that fails, puts back the content that was removed before. */
async function putThere(world: World, located: Located, delta: Applying): Promise<AppliedDelta | Conflict> {
  const { before } = delta;
  const giveBack = async (): Promise<void> => {
    if (before.kind === 'absent') return;
    const { bytes: _bytes, ...rest } = delta;
    await applyDelta(world, { ...rest, before: ABSENT, after: before });
  };
  try {
    const outcome = await put(world, located, delta);
    if (!outcome.ok) await giveBack();
    return outcome;
  } catch (error) {
    await giveBack();
    throw error;
  }
}

async function put(world: World, located: Located, delta: Applying): Promise<AppliedDelta | Conflict> {
  if (!located.exists && located.missing.length > 1) return conflict('missing');
  const { after, mode } = delta;
  if (after.kind !== 'directory') return putFile(world, located.place, delta);
  const made = await makeOneFolder(
    world.disk,
    located.place,
    mode === 'default' ? undefined : after.mode | OWNER,
  );
  if (made === 'taken') return conflict('exists');
  return made === 'there' ? { ...APPLIED, idle: true } : { ...APPLIED, folderMode: made.mode };
}

async function putFile(world: World, place: Place, delta: Applying): Promise<AppliedDelta | Conflict> {
  const { after } = delta;
  if (after.kind === 'link') {
    const made = await makeLink(world.disk, place, after.target);
    return made.ok ? APPLIED : made;
  }
  if (after.kind !== 'file') return APPLIED;
  const content =
    contentAtHand(world, delta, after.fingerprint) ?? (await keptContent(world, after.fingerprint));
  const mode = delta.mode === 'default' ? {} : { mode: after.mode };
  const made = await create(diskFor(world, delta), place, { ...content, ...mode });
  return made.ok ? { ...APPLIED, committed: made } : made;
}

/** A file without a staged temporary file was not synced with its batch, so it is synced on its own. */
function diskFor({ disk }: World, { staged }: Applying): DiskContext {
  return staged === undefined ? unbatched(disk) : disk;
}

/**
 * The new bytes, unless they must be loaded. A staged temporary file already holds them, so they are
 * not loaded.
 */
function contentAtHand(
  { images }: World,
  { staged, bytes }: Applying,
  fingerprint: Fingerprint,
): NewContent | undefined {
  if (staged !== undefined) return { fingerprint, chunks: () => images.chunks(fingerprint), staged };
  return bytes && { bytes: bytes(), fingerprint };
}

type Replacing = Applying & { readonly before: StoredFile; readonly after: StoredFile };

function isReplaced<T extends PlannedDelta>(
  delta: T,
): delta is T & { readonly before: StoredFile; readonly after: StoredFile } {
  return delta.before.kind === 'file' && delta.after.kind === 'file';
}

/** Replaces a file by a file, in one step. */
async function replaceFile(
  world: World,
  { place, exists }: Located,
  delta: Replacing,
): Promise<AppliedDelta | Conflict> {
  if (!exists) return conflict('missing');
  const { before, after, ours } = delta;
  const content =
    contentAtHand(world, delta, after.fingerprint) ?? (await keptContent(world, after.fingerprint));
  const written = await replace(diskFor(world, delta), place, {
    ...content,
    expected: expectedOf(before, delta),
    ...newMode(delta),
    ours,
  });
  if (!written.ok) return written;
  return { ...APPLIED, committed: written, displaced: displacedOf(written.displaced, before) };
}

/** The mode to set, if the delta alters it. Otherwise the file keeps its present mode. */
function newMode({ before, after }: PlannedDelta): { readonly mode?: number } {
  return before.kind === 'file' && after.kind === 'file' && after.mode !== before.mode
    ? { mode: after.mode }
    : {};
}

/** True if a new file exists although creating it failed, for example if only its temporary name could not be removed. */
export async function isLeft(world: World, delta: PlannedDelta): Promise<boolean> {
  const { before, after, movedFrom, key, path } = delta;
  if (before.kind !== 'absent' || after.kind !== 'file' || movedFrom !== undefined) return false;
  return atDelta(
    world,
    { key, path },
    ({ exists, place }) => exists && holdsAt(place, after.fingerprint),
    false,
  );
}

/**
 * Makes a temporary file next to the target, with the new bytes. Undefined if none is needed, or if
 * the target or its folder does not have its expected state yet.
 */
export function stage(world: World, delta: PlannedDelta): Promise<Staged | undefined> {
  if (!isNewFile(delta)) return Promise.resolve(undefined);
  const { before, after, bytes, mode } = delta;
  const stageAt = (located: Located): Promise<Staged | undefined> | undefined => {
    const { exists, place } = located;
    if (exists ? before.kind !== 'file' : before.kind !== 'absent' || located.missing.length > 1)
      return undefined;
    const { fingerprint } = after;
    const content = async (): Promise<Content> =>
      bytes === undefined ? keptContent(world, fingerprint) : { bytes: bytes(), fingerprint };
    const given = exists ? newMode(delta) : mode === 'default' ? {} : { mode: after.mode };
    return stageFile(world.disk, place, { content, replaces: exists, ...given });
  };
  return atDelta<Staged | undefined>(world, delta, async (located) => stageAt(located), undefined);
}

/** True if a delta writes the bytes of a file. */
function isNewFile<T extends PlannedDelta>(delta: T): delta is T & { readonly after: StoredFile } {
  const { before, after, movedFrom } = delta;
  return after.kind === 'file' && movedFrom === undefined && !sameContent(before, after);
}

/** Removes a temporary file that was not renamed to its final name. */
export async function unstage(world: World, delta: PlannedDelta, staged: Staged): Promise<void> {
  await atDelta(world, delta, ({ place }) => dropStaged(place, staged), undefined);
}

/**
 * Removes the temporary files that a delta may have left. Returns false if that is not possible now:
 * the record of the change must then stay pending, because it is the list of these files.
 */
export function areTempsCleared(
  world: World,
  { path, movedFrom }: Pick<PlannedDelta, 'path' | 'movedFrom'>,
): boolean {
  const source = movedFrom && world.workspace.named(movedFrom.key, movedFrom.relative);
  return isClearAt(world, path) && (source === undefined || isClearAt(world, source));
}

function isClearAt(world: World, { absolute, key }: ResolvedPath): boolean {
  const clear = (located: Located): boolean => {
    // Without its folder, nothing can be beside the path.
    const isGone = located.place.path.key !== key || (!located.exists && located.missing.length > 1);
    return isGone || clearTemps(world.disk, located.place) === 'clear';
  };
  const at = { path: absolute, action: 'undo', links: 'parents' } as const;
  return world.workspace.atOnce(at, clear, () => isBelowNoFolder(world, key));
}
