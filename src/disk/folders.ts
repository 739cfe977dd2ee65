import { chmodSync, lstatSync, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { isMissing, isTaken, unlessErrno } from '../model/fault.ts';
import { at, type PinnedDirectory, type Place } from '../model/path.ts';
import { changeFailed, type DiskContext } from './context.ts';
import { syncFolder } from './file-system.ts';
import { modeOf } from './read.ts';

/**
 * Makes a folder, and returns its permission bits. Default: those that the system gives it. `there`:
 * another process has made the folder. `taken`: a file or a link has its name.
 */
export async function makeOneFolder(
  context: DiskContext,
  place: Place,
  mode?: number,
): Promise<{ readonly mode: number } | 'there' | 'taken'> {
  const path = at(place);
  try {
    mkdirSync(path, 0o777);
  } catch (error) {
    if (!isTaken(error)) throw changeFailed(context, error, place.path);
    return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? 'there' : 'taken';
  }
  try {
    const dir = place.dir.enter(place.name);
    try {
      if (mode !== undefined) setFolderMode(dir, mode);
      await syncFolder(context, place.dir);
      return { mode: modeOf(statSync(`${dir.prefix}/.`, { bigint: true })) };
    } finally {
      dir.close();
    }
  } catch (error) {
    // Ignore the error if the folder stays: another process has put a file into it.
    unlessErrno(() => rmdirSync(path));
    throw changeFailed(context, error, place.path);
  }
}

/**
 * Sets a folder's permission bits. Keeps its present setgid and sticky bits: the folder may have
 * inherited them, and the journal does not record them.
 */
export function setFolderMode(dir: PinnedDirectory, mode: number): void {
  const path = `${dir.prefix}/.`;
  chmodSync(path, (mode & 0o777) | (lstatSync(path).mode & 0o7000));
}

/** Removes an empty folder. False if it is not empty; true also if it no longer exists. */
export async function removeFolder(context: DiskContext, place: Place): Promise<boolean> {
  try {
    rmdirSync(`${place.dir.prefix}/${place.name}`);
    await syncFolder(context, place.dir);
    return true;
  } catch (error) {
    if (isMissing(error)) return true;
    if (error instanceof Error && 'code' in error && (error.code === 'ENOTEMPTY' || error.code === 'EEXIST'))
      return false;
    throw changeFailed(context, error, place.path);
  }
}
