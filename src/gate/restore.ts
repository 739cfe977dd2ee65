import { unbatched } from '../disk/batch.ts';
import type { Expected } from '../disk/compare.ts';
import { create, stageNew } from '../disk/create.ts';
import { setFileMode } from '../disk/file-mode.ts';
import { makeFolders, removeFolder, setFolderMode } from '../disk/folders.ts';
import { makeLink } from '../disk/links.ts';
import { move } from '../disk/move.ts';
import { remove, removeLink } from '../disk/remove.ts';
import { type Conflict, conflict, replace, stageReplacement } from '../disk/replace.ts';
import { dropStaged, type Staged } from '../disk/temp-file.ts';
import { sameContent, sameSide } from '../journal/side.ts';
import type { UndoStep } from '../journal/undo-steps.ts';
import type { Effect, Side } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Place } from '../model/path.ts';
import type { Located } from '../workspace/workspace.ts';
import { ABSENT } from './sides.ts';
import type { Displaced } from './step.ts';
import type { World } from './world.ts';
import { madeEffects } from './write-step.ts';

interface RestoredOk {
  readonly ok: true;
  readonly displaced: readonly Displaced[];
  /** Folders that had to be made on the way. */
  readonly made: readonly Effect[];
  /** A folder that was to go is still needed. */
  readonly stayed?: true;
  /** A folder that was to come or to go has come or gone already. */
  readonly idle?: true;
}
type Restored = RestoredOk | Conflict;

export interface RestoreHow {
  /** What is there was put there by us just now, and is given up if there is no room to keep it. */
  readonly ours?: true;
  /** Reads the bytes that are to come. Default: from the images. */
  readonly bytes?: (() => Promise<Uint8Array>) | undefined;
  /** The file that already holds them beside its place. */
  readonly staged?: Staged | undefined;
}
type Taking = UndoStep & RestoreHow;

const RESTORED: RestoredOk = { ok: true, displaced: [], made: [] };

/** Brings one thing back, if what is there is what the step expects. After a conflict or a Fault everything is as it was. */
export async function restore(world: World, step: UndoStep, how: RestoreHow = {}): Promise<Restored> {
  if (step.from === undefined && sameSide(step.expect, step.restore)) return RESTORED;
  const outcome = world.workspace.locate(step.key, 'undo', 'parents');
  if (!outcome.ok) return conflict('changed');
  const { located } = outcome;
  try {
    // A link has taken the place of a folder on the way: what lies behind it is another file.
    if (located.place.path.key !== step.key) return conflict('changed');
    if (step.from !== undefined) return moveBack(world, step.from.key, located);
    if (sameContent(step.expect, step.restore)) return changeMode(located, step);
    if (isFolderAsMeant(located, step)) return { ...RESTORED, idle: true };
    const taken = takeAway(world, located, { ...step, ...how });
    if (!taken.ok || step.restore.kind === 'absent') return taken;
    const put = await putThere(world, located, { ...step, ...how });
    return put.ok ? { ...put, displaced: [...taken.displaced, ...put.displaced] } : put;
  } finally {
    located.place.dir.close();
  }
}

function moveBack(world: World, from: string, to: Located): Restored {
  const source = world.workspace.locate(from, 'undo', 'parents');
  if (!source.ok) return conflict('changed');
  try {
    if (!source.located.exists || to.exists) return conflict('changed');
    const folders = makeFolders(world.disk, to.place, to.missing.slice(0, -1));
    try {
      const place = { ...to.place, dir: folders.dir, name: to.missing.at(-1) ?? to.place.name };
      const moved = move(world.disk, source.located.place, place);
      if (!moved.ok) folders.undo();
      return moved.ok ? { ...RESTORED, made: madeEffects(to, folders) } : moved;
    } finally {
      folders.close();
    }
  } finally {
    source.located.place.dir.close();
  }
}

/** Folders have no content of their own: whoever made or removed it, it is as it is to be. */
function isFolderAsMeant(located: Located, { expect, restore: after }: UndoStep): boolean {
  if (after.kind === 'directory')
    return expect.kind === 'absent' && located.exists && located.stats.isDirectory();
  return after.kind === 'absent' && expect.kind === 'directory' && !located.exists;
}

/** The same thing with other permissions. */
function changeMode({ place }: Located, { expect, restore: after }: UndoStep): Restored {
  if (after.kind === 'file' && expect.kind === 'file') {
    const changed = setFileMode(place, after.mode, { fingerprint: expect.fingerprint });
    return changed.ok ? RESTORED : changed;
  }
  if (after.kind !== 'directory') return RESTORED;
  const folder = place.dir.enter(place.name);
  setFolderMode(folder, after.mode);
  folder.close();
  return RESTORED;
}

/** Removes what must make room. A file that is only replaced stays until its successor takes its place. */
function takeAway(world: World, located: Located, { expect, restore: after, ours }: Taking): Restored {
  if (located.exists !== (expect.kind !== 'absent')) return conflict(located.exists ? 'exists' : 'missing');
  switch (expect.kind) {
    case 'absent':
      return RESTORED;
    case 'directory': {
      const gone = removeFolder(world.disk, located.place);
      if (gone) return RESTORED;
      // A folder in which someone has put something since stays, unless something else must take its place.
      return after.kind === 'absent' ? { ...RESTORED, stayed: true } : conflict('changed');
    }
    case 'link': {
      const removed = removeLink(world.disk, located.place, expect.target);
      return removed.ok ? RESTORED : removed;
    }
    case 'file':
      return after.kind === 'file' ? RESTORED : takeFile(world, located.place, { side: expect, ours });
    default:
      return expect satisfies never;
  }
}

function takeFile(
  world: World,
  place: Place,
  { side, ours }: { side: Extract<Side, { kind: 'file' }>; ours: true | undefined },
): Restored {
  const expected = { ...expectedOf(side), ...(ours === undefined ? {} : { ours }) };
  const removed = remove(world.disk, place, expected);
  return removed.ok ? { ...RESTORED, displaced: displacedOf(removed.displaced, side) } : removed;
}

/** A file that the journal knows as read-only became so by the recorded change, which also may change it again. */
function expectedOf({ fingerprint, mode }: Extract<Side, { kind: 'file' }>): Expected {
  return { fingerprint, evenReadOnly: (mode & 0o222) === 0 };
}

function displacedOf(file: string | undefined, side: Extract<Side, { kind: 'file' }>): Displaced[] {
  return file === undefined ? [] : [{ file, ...side.fingerprint }];
}

/** Puts it there. If that fails, what had to make room for it comes back. */
async function putThere(world: World, located: Located, step: Taking): Promise<Restored> {
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

async function put(world: World, located: Located, step: Taking): Promise<Restored> {
  const names = located.exists ? [located.place.name] : located.missing;
  const above = step.restore.kind === 'directory' ? names : names.slice(0, -1);
  const folders = makeFolders(world.disk, located.place, above);
  const { made, mode } = folders;
  try {
    if (step.restore.kind === 'directory') {
      setFolderMode(folders.dir, step.restore.mode);
      return { ...RESTORED, made: madeEffects(located, { made: made - 1, mode }) };
    }
    if (made > 0 && step.folderMode !== undefined) setFolderMode(folders.dir, step.folderMode);
    const name = names.at(-1) ?? located.place.name;
    const place = { ...located.place, dir: folders.dir, name };
    const outcome = await putFile(world, place, step);
    if (!outcome.ok) folders.undo();
    return outcome.ok ? { ...outcome, made: madeEffects(located, folders) } : outcome;
  } catch (error) {
    folders.undo();
    throw error;
  } finally {
    folders.close();
  }
}

async function putFile(world: World, place: Place, step: Taking): Promise<Restored> {
  const { expect, restore: after, staged } = step;
  if (after.kind === 'link') {
    const made = makeLink(world.disk, place, after.target);
    return made.ok ? RESTORED : made;
  }
  if (after.kind !== 'file') return RESTORED;
  const { fingerprint, mode } = after;
  // A file that was not staged with the others of its batch is synced by itself.
  const disk = staged === undefined ? unbatched(world.disk) : world.disk;
  const bytes = await bytesFor(world, step, fingerprint);
  const content = { bytes, fingerprint, ...(staged === undefined ? {} : { staged }) };
  if (expect.kind !== 'file') {
    const made = await create(disk, place, { ...content, mode });
    return made.ok ? RESTORED : made;
  }
  const ours = step.ours === undefined ? {} : { ours: step.ours };
  const expected = expectedOf(expect);
  const written = await replace(disk, place, { ...content, expected, ...newMode(step), ...ours });
  return written.ok ? { ...RESTORED, displaced: displacedOf(written.displaced, expect) } : written;
}

/** Permissions that someone has given the file since stay, unless it was our change that gave it others. */
function newMode({ expect, restore: after }: UndoStep): { readonly mode?: number } {
  return expect.kind === 'file' && after.kind === 'file' && after.mode !== expect.mode
    ? { mode: after.mode }
    : {};
}

function bytesFor(world: World, { bytes }: RestoreHow, fingerprint: Fingerprint): Promise<Uint8Array> {
  return bytes === undefined ? world.images.read(fingerprint) : bytes();
}

/** Writes the bytes of a file that is to come beside its place; undefined where only carrying the step out can tell where. */
export async function stage(
  world: World,
  step: UndoStep,
  how: Pick<RestoreHow, 'bytes'>,
): Promise<Staged | undefined> {
  const { key, expect, restore: after, from } = step;
  if (after.kind !== 'file' || from !== undefined || sameContent(expect, after)) return undefined;
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  try {
    if (located.place.path.key !== key) return undefined;
    if (located.exists) {
      if (expect.kind !== 'file') return undefined;
      const bytes = await bytesFor(world, how, after.fingerprint);
      return await stageReplacement(world.disk, located.place, { bytes, ...newMode(step) });
    }
    if (expect.kind !== 'absent' || located.missing.length > 1) return undefined;
    const bytes = await bytesFor(world, how, after.fingerprint);
    return await stageNew(world.disk, located.place, { bytes, mode: after.mode });
  } finally {
    located.place.dir.close();
  }
}

/** Removes a staged file that was not published. */
export function unstage(world: World, { key }: UndoStep, staged: Staged): void {
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok) return;
  dropStaged(outcome.located.place, staged);
  outcome.located.place.dir.close();
}
