import { type Content, type Expected, holdsAt } from '../disk/content.ts';
import { unbatched } from '../disk/context.ts';
import { create, makeLink, stageNew } from '../disk/create.ts';
import { makeFolders, removeFolder, setFolderMode } from '../disk/folders.ts';
import { move } from '../disk/move.ts';
import { remove, removeLink } from '../disk/remove.ts';
import { type Conflict, conflict, replace, setFileMode, stageReplacement } from '../disk/replace.ts';
import { dropStaged, type Staged } from '../disk/temp-file.ts';
import type { UndoStep } from '../journal/undo-steps.ts';
import { type Effect, type Side, sameContent, sameSide } from '../model/entry.ts';
import { type Fingerprint, type Stamp, sameStamp } from '../model/fingerprint.ts';
import type { Place } from '../model/path.ts';
import type { Outcome } from '../model/verdict.ts';
import type { Found, Located } from '../workspace/workspace.ts';
import { keptContent } from './announce.ts';
import { madeEffects } from './folder-step.ts';
import { ABSENT, type Displaced } from './step.ts';
import type { World } from './world.ts';

interface RestoredOk {
  readonly ok: true;
  readonly displaced: readonly Displaced[];
  /** Parent folders that had to be created. */
  readonly made: readonly Effect[];
  /** Set if a folder that the step should remove stayed, because it is not empty. */
  readonly stayed?: true;
  /** Set if nothing was done, because the folder was created or removed already. */
  readonly idle?: true;
}
type Restored = RestoredOk | Conflict;

export interface RestoreHow {
  /**
   * Set if this process has just written the present content. That content may then be discarded if
   * there is no space to keep it.
   */
  readonly ours?: true;
  /** Reads the bytes to restore. Default: the stored old content. */
  readonly bytes?: (() => Promise<Uint8Array>) | undefined;
  /** The temporary file next to the target that already holds the bytes. */
  readonly staged?: Staged | undefined;
  /** The stamp of a file that moves back. Set only if an unchanged stamp proves unchanged bytes. */
  readonly stamp?: Stamp | undefined;
  /** Set if later steps write into a restored folder. `closeFolder` then sets its final mode. */
  readonly open?: true;
}
type RestoreRequest = UndoStep & RestoreHow;

const RESTORED: RestoredOk = { ok: true, displaced: [], made: [] };

/**
 * Restores one file, link or folder, if the present state is the one the step expects. After a conflict or a Fault
 * nothing has changed.
 */
export async function restore(world: World, step: UndoStep, how: RestoreHow = {}): Promise<Restored> {
  if (step.from === undefined && sameSide(step.expect, step.restore)) return RESTORED;
  const outcome = locateRecorded(world, step);
  if (!outcome.ok) return conflict('changed');
  const located = how.ours === undefined ? outcome.located : openingOwn(outcome.located);
  try {
    // If a link has replaced a parent folder, the path leads to another file, which must stay.
    if (located.place.path.key !== step.key) return conflict('changed');
    if (step.from !== undefined) return moveBack(world, { ...step, ...how }, located);
    if (sameContent(step.expect, step.restore)) return changeMode(located, { ...step, ...how });
    if (isFolderAsMeant(located, step)) return { ...RESTORED, idle: true };
    const taken = await takeAway(world, located, { ...step, ...how });
    if (!taken.ok || step.restore.kind === 'absent') return taken;
    const put = await putThere(world, located, { ...step, ...how });
    return put.ok ? { ...put, displaced: [...taken.displaced, ...put.displaced] } : put;
  } finally {
    located.place.dir.close();
  }
}

/**
 * Locates a path of the journal by its original spelling, not by its key. Where file names ignore
 * case, a key has only lower-case letters, and the restored file would get a wrong name. Faults
 * name the path as answers show it, not as an absolute path.
 */
function locateRecorded(
  { workspace }: World,
  { key, relative }: Pick<UndoStep, 'key' | 'relative'>,
): Outcome<{ located: Located }> {
  const outcome = workspace.locate(workspace.named(key, relative).absolute, 'undo', 'parents');
  if (!outcome.ok) return outcome;
  const { place } = outcome.located;
  const path = { ...place.path, given: workspace.shown(place.path) };
  return { ok: true, located: { ...outcome.located, place: { ...place, path } } };
}

/**
 * The place of a file that this process has just written, with permission to open the file even if
 * its mode forbids that.
 */
function openingOwn(located: Located): Located {
  return { ...located, place: { ...located.place, opensOwn: true } };
}

async function moveBack(world: World, step: RestoreRequest, to: Located): Promise<Restored> {
  const source = locateRecorded(world, step.from ?? step);
  if (!source.ok) return conflict('changed');
  try {
    if (!source.located.exists || to.exists || !isMoving(source.located, step)) return conflict('changed');
    const folders = makeFolders(world.disk, to.place, to.missing.slice(0, -1));
    try {
      const place = { ...to.place, dir: folders.dir, name: to.missing.at(-1) ?? to.place.name };
      await folders.sync();
      const moved = await move(world.disk, source.located.place, place);
      if (!moved.ok) folders.undo();
      return moved.ok ? { ...RESTORED, made: madeEffects(to, folders) } : moved;
    } catch (error) {
      folders.undo();
      throw error;
    } finally {
      folders.close();
    }
  } finally {
    source.located.place.dir.close();
  }
}

/**
 * True if the entry may move back from its present path: it has the kind to restore and, if it is a
 * file, holds the bytes to restore.
 */
function isMoving({ place, stats }: Found, { restore: after, stamp }: RestoreRequest): boolean {
  if (after.kind === 'directory') return stats.isDirectory();
  if (after.kind !== 'file') return stats.isSymbolicLink();
  return (stamp !== undefined && sameStamp(stamp, stats)) || holdsAt(place, after.fingerprint);
}

/**
 * True if a folder already is in the wanted state. A folder has no content, so it does not matter which program made or
 * removed it.
 */
function isFolderAsMeant(located: Located, { expect, restore: after }: UndoStep): boolean {
  if (after.kind === 'directory')
    return expect.kind === 'absent' && located.exists && located.stats.isDirectory();
  return after.kind === 'absent' && expect.kind === 'directory' && !located.exists;
}

/** Restores only the permissions, because the content is already right. */
function changeMode({ place }: Located, { expect, restore: after, open }: RestoreRequest): Restored {
  if (after.kind === 'file' && expect.kind === 'file') {
    const changed = setFileMode(place, after.mode, { fingerprint: expect.fingerprint });
    return changed.ok ? RESTORED : changed;
  }
  if (after.kind !== 'directory') return RESTORED;
  const folder = place.dir.enter(place.name);
  setFolderMode(folder, open ? after.mode | OWNER : after.mode);
  folder.close();
  return RESTORED;
}

/** Permissions that an ordinary user needs to change the contents of a folder. */
const OWNER = 0o700;

/** Gives a folder that was restored with `open` its own mode, after its contents are complete. */
export function closeFolder(world: World, step: UndoStep): void {
  const { key, restore: after } = step;
  if (after.kind !== 'directory' || (after.mode & OWNER) === OWNER) return;
  const outcome = locateRecorded(world, step);
  if (!outcome.ok) return;
  const { located } = outcome;
  try {
    if (located.place.path.key !== key || !located.exists || !located.stats.isDirectory()) return;
    const folder = located.place.dir.enter(located.place.name);
    setFolderMode(folder, after.mode);
    folder.close();
  } finally {
    located.place.dir.close();
  }
}

/**
 * Removes the present content to make room. A file that another file will replace stays: the rename
 * of the new file replaces it.
 */
async function takeAway(
  world: World,
  located: Located,
  { expect, restore: after, ours }: RestoreRequest,
): Promise<Restored> {
  if (located.exists !== (expect.kind !== 'absent')) return conflict(located.exists ? 'exists' : 'missing');
  switch (expect.kind) {
    case 'absent':
      return RESTORED;
    case 'directory': {
      const gone = await removeFolder(world.disk, located.place);
      if (gone) return RESTORED;
      // Another program has filled the folder since, so it stays. If its path is needed, report a
      // conflict.
      return after.kind === 'absent' ? { ...RESTORED, stayed: true } : conflict('changed');
    }
    case 'link': {
      const removed = await removeLink(world.disk, located.place, expect.target);
      return removed.ok ? RESTORED : removed;
    }
    case 'file':
      return after.kind === 'file' ? RESTORED : takeFile(world, located.place, { side: expect, ours });
    default:
      return expect satisfies never;
  }
}

async function takeFile(
  world: World,
  place: Place,
  { side, ours }: { side: Extract<Side, { kind: 'file' }>; ours: true | undefined },
): Promise<Restored> {
  const expected = { ...expectedOf(side), ...(ours === undefined ? {} : { ours }) };
  const removed = await remove(world.disk, place, expected);
  return removed.ok ? { ...RESTORED, displaced: displacedOf(removed.displaced, side) } : removed;
}

/**
 * The conditions under which a file may be replaced. A read-only file may be replaced only if the
 * change to undo left it read-only.
 */
function expectedOf({ fingerprint, mode }: Extract<Side, { kind: 'file' }>): Expected {
  return { fingerprint, evenReadOnly: (mode & 0o222) === 0 };
}

function displacedOf(file: string | undefined, side: Extract<Side, { kind: 'file' }>): Displaced[] {
  return file === undefined ? [] : [{ file, ...side.fingerprint }];
}

/** Writes the restored state. If that fails, puts back the content that was removed before. */
async function putThere(world: World, located: Located, step: RestoreRequest): Promise<Restored> {
  const { expect, restore: after } = step;
  const madeRoom = expect.kind !== 'absent' && !(expect.kind === 'file' && after.kind === 'file');
  const giveBack = async (): Promise<void> => {
    if (madeRoom) await restore(world, { ...step, expect: ABSENT, restore: expect });
  };
  try {
    const outcome = await put(world, located, step);
    if (!outcome.ok) await giveBack();
    return outcome;
  } catch (error) {
    await giveBack();
    throw error;
  }
}

async function put(world: World, located: Located, step: RestoreRequest): Promise<Restored> {
  const names = located.exists ? [located.place.name] : located.missing;
  const above = step.restore.kind === 'directory' ? names : names.slice(0, -1);
  const folders = makeFolders(world.disk, located.place, above);
  const { made } = folders;
  try {
    await folders.sync();
    // Read the mode of the new folders before the innermost one gets another.
    const outerMode = made > 0 ? folders.mode() : 0;
    if (step.restore.kind === 'directory') {
      setFolderMode(folders.dir, step.open ? step.restore.mode | OWNER : step.restore.mode);
      return { ...RESTORED, made: madeEffects(located, { made: made - 1, mode: () => outerMode }) };
    }
    if (made > 0 && step.folderMode !== undefined) setFolderMode(folders.dir, step.folderMode);
    const name = names.at(-1) ?? located.place.name;
    const place = { ...located.place, dir: folders.dir, name };
    const outcome = await putFile(world, place, step);
    if (!outcome.ok) folders.undo();
    if (!outcome.ok) return outcome;
    return { ...outcome, made: madeEffects(located, { made, outerMode, mode: () => folders.mode() }) };
  } catch (error) {
    folders.undo();
    throw error;
  } finally {
    folders.close();
  }
}

async function putFile(world: World, place: Place, step: RestoreRequest): Promise<Restored> {
  const { expect, restore: after, staged } = step;
  if (after.kind === 'link') {
    const made = await makeLink(world.disk, place, after.target);
    return made.ok ? RESTORED : made;
  }
  if (after.kind !== 'file') return RESTORED;
  const { fingerprint, mode } = after;
  // A file without a staged temporary file was not synced with its batch, so sync it on its own.
  const disk = staged === undefined ? unbatched(world.disk) : world.disk;
  // A staged temporary file already holds the bytes, so do not load them.
  const content =
    staged === undefined
      ? await contentFor(world, step, fingerprint)
      : { fingerprint, chunks: () => world.images.chunks(fingerprint), staged };
  if (expect.kind !== 'file') {
    const made = await create(disk, place, { ...content, mode });
    return made.ok ? RESTORED : made;
  }
  const ours = step.ours === undefined ? {} : { ours: step.ours };
  const expected = expectedOf(expect);
  const written = await replace(disk, place, { ...content, expected, ...newMode(step), ...ours });
  return written.ok ? { ...RESTORED, displaced: displacedOf(written.displaced, expect) } : written;
}

/** The mode to set, if the change to undo altered it. Otherwise the file keeps its present mode. */
function newMode({ expect, restore: after }: UndoStep): { readonly mode?: number } {
  return expect.kind === 'file' && after.kind === 'file' && after.mode !== expect.mode
    ? { mode: after.mode }
    : {};
}

async function contentFor(world: World, { bytes }: RestoreHow, fingerprint: Fingerprint): Promise<Content> {
  return bytes === undefined ? keptContent(world, fingerprint) : { bytes: await bytes(), fingerprint };
}

/**
 * Makes a temporary file next to the target, with the bytes to restore. Undefined if none is needed,
 * or if the target or its folder does not have its expected state yet. `file`: a file of Lookfirst
 * with these bytes. The temporary file is then a link to it, not a copy.
 */
export async function stage(
  world: World,
  step: UndoStep,
  { file: path, ...how }: Pick<RestoreHow, 'bytes'> & { readonly file: string | undefined },
): Promise<Staged | undefined> {
  const { key, expect, restore: after, from } = step;
  if (after.kind !== 'file' || from !== undefined || sameContent(expect, after)) return undefined;
  const outcome = locateRecorded(world, step);
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  try {
    if (located.place.path.key !== key) return undefined;
    const content = (): Promise<Content> => contentFor(world, how, after.fingerprint);
    const staged = { content, file: path === undefined ? undefined : { path, mode: after.mode } };
    if (located.exists) {
      if (expect.kind !== 'file') return undefined;
      return await stageReplacement(world.disk, located.place, { ...staged, ...newMode(step) });
    }
    if (expect.kind !== 'absent' || located.missing.length > 1) return undefined;
    return await stageNew(world.disk, located.place, { ...staged, mode: after.mode });
  } finally {
    located.place.dir.close();
  }
}

/**
 * Removes a temporary file that was not renamed to its final name. If its folder cannot be opened,
 * the next start of Lookfirst removes the file.
 */
export function unstage(world: World, step: UndoStep, staged: Staged): void {
  const outcome = locateRecorded(world, step);
  if (!outcome.ok) {
    world.disk.litter.doubt();
    return;
  }
  const { place } = outcome.located;
  try {
    dropStaged(place, staged);
  } finally {
    place.dir.close();
  }
}
