import {
  closeSync,
  constants,
  linkSync,
  lstatSync,
  openSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { errnoOf, isMissing, isTaken } from '../model/errno.ts';

/**
 * What link(2) says where it cannot be used: no hard links on this file system (FAT, some network and user-space
 * ones), a folder, a file of someone else's, or too many links already.
 */
const NO_LINK = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);
const EXCLUSIVE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Elsewhere link(2) follows a symbolic link instead of giving it a second name. */
const LINKS_LINKS = process.platform === 'linux';

/** Gives a file a second name, if it is free and if files here can have two. */
export function linkIfFree(from: string, to: string): 'linked' | 'taken' | 'no-links' {
  if (!LINKS_LINKS && lstatSync(from).isSymbolicLink()) return 'no-links';
  try {
    linkSync(from, to);
    return 'linked';
  } catch (error) {
    if (isTaken(error)) return 'taken';
    if (NO_LINK.has(errnoOf(error) ?? '')) return 'no-links';
    throw error;
  }
}

/**
 * Gives what is at `from` another name, which must be free; false if something has it. Of several who want the name
 * one gets it, and it holds the whole file from the first moment. Without hard links an empty file stands there for
 * that moment instead, and what someone writes into that is lost.
 */
export function moveIfFree(from: string, to: string): boolean {
  const linked = linkIfFree(from, to);
  if (linked === 'no-links') return moveWithoutLinks(from, to);
  if (linked === 'linked') dropOldName(from, to);
  return linked === 'linked';
}

/**
 * Removes the old name. If that fails the new one goes again, so that the caller can report that nothing was done. An old
 * name that is gone already was removed by another start that cleans up as well: then the new name is the only one.
 */
function dropOldName(from: string, to: string): void {
  try {
    unlinkSync(from);
  } catch (error) {
    if (isMissing(error)) return;
    unlinkSync(to);
    throw error;
  }
}

/** The same for a folder. An empty folder made under that name in the same instant is replaced, which loses nothing. */
export function moveFolderIfFree(from: string, to: string): boolean {
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) return false;
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENOTEMPTY' || errno === 'EEXIST' || errno === 'ENOTDIR') return false;
    throw error;
  }
}

function moveWithoutLinks(from: string, to: string): boolean {
  const stats = lstatSync(from);
  if (stats.isDirectory()) return moveFolderIfFree(from, to);
  try {
    if (stats.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
    else closeSync(openSync(to, EXCLUSIVE, 0o600));
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    unlinkSync(to);
    throw error;
  }
}
