import {
  closeSync,
  constants,
  fchmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  symlinkSync,
} from 'node:fs';
import { basename } from 'node:path';
import { errnoOf } from '../model/fault.ts';
import { at, type PinnedDirectory, type Place } from '../model/path.ts';
import { claimName, putBack } from './claim.ts';
import { type Content, writeContent } from './content.ts';
import { changeFailed, type DiskContext } from './context.ts';
import { syncFolder } from './file-system.ts';
import { setFolderMode } from './folders.ts';
import { moveFolderIfFree } from './free-name.ts';
import { retainFolder } from './publication.ts';
import { type Conflict, conflict } from './replace.ts';
import { tempName } from './temp-names.ts';

/**
 * Moves a folder and its contents out of the workspace into `retained`, in one rename. The folder
 * and `retained` must be on the same file system. `isAsExpected` checks the folder under a
 * temporary name; if it returns false, the folder gets its name back.
 */
export async function takeFolder(
  context: DiskContext,
  place: Place,
  isAsExpected: (dir: PinnedDirectory) => boolean,
): Promise<{ readonly ok: true; readonly kept: string } | Conflict> {
  try {
    const claim = claimName(context, place);
    if (claim === undefined) return conflict('missing');
    try {
      if (!isFolderAsExpected(place, claim, isAsExpected))
        return conflict('changed', { retained: giveNameBack(context, claim, place) });
      context.trace?.('folder-sync');
      await syncFolder(context, place.dir);
      return { ok: true, kept: retainFolder(context, claim) };
    } catch (error) {
      if (lstatSync(claim, { throwIfNoEntry: false }) !== undefined) giveNameBack(context, claim, place);
      throw error;
    }
  } catch (error) {
    throw changeFailed(context, error, place.path);
  }
}

/** Errors of a folder's rename if the new name is taken, by a file or by a folder with contents. */
const TAKEN = new Set(['ENOTEMPTY', 'EEXIST', 'ENOTDIR']);

/**
 * Renames an entry from its temporary name (`claim`) back to its original name. Replaces an empty
 * folder that has this name by now, which loses nothing. If any other entry has the name, moves the
 * claimed entry out of the workspace and returns its new path.
 */
function giveNameBack(context: DiskContext, claim: string, place: Place): string[] {
  if (!lstatSync(claim).isDirectory()) return putBack(context, claim, place);
  try {
    renameSync(claim, at(place));
    return [];
  } catch (error) {
    if (!TAKEN.has(errnoOf(error) ?? '')) throw error;
    return [retainFolder(context, claim)];
  }
}

function isFolderAsExpected(
  place: Place,
  claim: string,
  isAsExpected: (dir: PinnedDirectory) => boolean,
): boolean {
  if (!lstatSync(claim).isDirectory()) return false;
  const dir = place.dir.enter(basename(claim));
  try {
    return isAsExpected(dir);
  } finally {
    dir.close();
  }
}

/** Moves a folder back that `takeFolder` moved out; false if its name now belongs to another entry. */
export async function returnFolder(context: DiskContext, kept: string, place: Place): Promise<boolean> {
  if (!moveFolderIfFree(kept, at(place))) return false;
  await syncFolder(context, place.dir);
  return true;
}

/**
 * True if one rename can move this folder into `retained`: both must be on the same file system.
 */
export function isTakeable(context: DiskContext, { dir, name }: Pick<Place, 'dir' | 'name'>): boolean {
  mkdirSync(context.retained, { recursive: true, mode: 0o700 });
  return lstatSync(`${dir.prefix}/${name}`).dev === lstatSync(context.retained).dev;
}

/** Renames a finished temporary folder to its final name; false if that name is taken. */
export async function publishFolder(context: DiskContext, place: Place, temp: string): Promise<boolean> {
  context.trace?.('publish');
  if (!moveFolderIfFree(`${place.dir.prefix}/${temp}`, at(place))) return false;
  context.trace?.('folder-sync');
  try {
    await syncFolder(context, place.dir);
    return true;
  } catch (error) {
    if (errnoOf(error) !== undefined) renameSync(at(place), `${place.dir.prefix}/${temp}`);
    throw error;
  }
}

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const SPECIAL_BITS = 0o7000;

/** An entry to create in a new folder. */
export type NewNode =
  | {
      readonly kind: 'file';
      readonly name: string;
      readonly mode: number;
      readonly content: () => Promise<Content>;
      /**
       * Path of a file that belongs to Lookfirst and has these bytes and this mode. No process
       * writes to it any more, so it is hard-linked instead of copied.
       */
      readonly file?: string | undefined;
    }
  | { readonly kind: 'link'; readonly name: string; readonly target: string }
  | NewFolder;

export interface NewFolder {
  readonly kind: 'folder';
  readonly name: string;
  readonly mode: number;
  readonly nodes: readonly NewNode[];
}

/**
 * Builds a folder and its contents under a temporary name beside the target, and returns that name.
 * Syncs nothing: the caller syncs before it publishes the folder. On failure, moves the partial
 * folder out of the workspace.
 */
export async function buildFolder(context: DiskContext, place: Place, folder: NewFolder): Promise<string> {
  context.trace?.('temp-open');
  const temp = tempName(context, place.path, 'new');
  try {
    await buildIn(place.dir, { ...folder, name: temp });
    return temp;
  } catch (error) {
    dropBuilt(context, place, temp);
    throw changeFailed(context, error, place.path);
  }
}

async function buildIn(parent: PinnedDirectory, { name, mode, nodes }: NewFolder): Promise<void> {
  mkdirSync(`${parent.prefix}/${name}`, 0o700);
  const dir = parent.enter(name);
  try {
    for (const node of nodes) {
      if (node.kind === 'folder') await buildIn(dir, node);
      else if (node.kind === 'link') symlinkSync(node.target, `${dir.prefix}/${node.name}`);
      else await makeFile(`${dir.prefix}/${node.name}`, node);
    }
    // Set the mode last: it may deny writing even to the owner.
    setFolderMode(dir, mode);
  } finally {
    dir.close();
  }
}

async function makeFile(path: string, node: Extract<NewNode, { kind: 'file' }>): Promise<void> {
  // Write a new file only if no hard link can be made. A linked file already has the right mode.
  if (node.file === undefined || !isLinked(node.file, path))
    await writeNew(path, node.mode, await node.content());
}

/**
 * Tries to make a hard link, because making a new file takes ten times as long. False if a hard
 * link is impossible, for example across file systems.
 */
function isLinked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

async function writeNew(path: string, mode: number, content: Content): Promise<void> {
  const fd = openSync(path, CREATE, 0o600);
  try {
    await writeContent(fd, content);
    fchmodSync(fd, mode & ~SPECIAL_BITS);
  } finally {
    closeSync(fd);
  }
}

/** Discards a folder that was built but not published: one rename moves it out of the workspace. */
export function dropBuilt(context: DiskContext, { dir }: Place, temp: string): void {
  const path = `${dir.prefix}/${temp}`;
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) retainFolder(context, path);
}
