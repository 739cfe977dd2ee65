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
import { errnoOf, isMissing, isTaken } from '../model/fault.ts';

/**
 * Errors of link(2) that mean that no hard link is possible. Either the file system has none (FAT,
 * some network and user-space ones), or the entry is a folder, has another owner or too many links.
 */
const NO_LINK = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);
const EXCLUSIVE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** True if link(2) links a symbolic link itself. Outside Linux, it links the target instead. */
const LINKS_LINKS = process.platform === 'linux';

/** Hard-links a file to a second name, if that name is free and hard links work here. */
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
 * Renames `from` to `to` if `to` is free; false if it is taken. Of several concurrent callers, one
 * succeeds. On file systems without hard links, `to` is briefly an empty file, and bytes written
 * into that file are lost.
 */
export function moveIfFree(from: string, to: string): boolean {
  const linked = linkIfFree(from, to);
  if (linked === 'no-links') return moveWithoutLinks(from, to);
  if (linked === 'linked') dropOldName(from, to);
  return linked === 'linked';
}

/**
 * Removes the old name. On failure removes the new name instead, so that the caller can report that
 * nothing changed. If another process has already removed the old name, keeps the new one: it is
 * the only name left.
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

/**
 * Like `moveIfFree`, for a folder. An empty folder created at `to` in the same instant is replaced,
 * which loses nothing.
 */
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
