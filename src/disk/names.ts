import { hash } from 'node:crypto';
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
import { errnoOf, isMissing, isTaken, unlessMissing } from '../model/fault.ts';
import { at, type Place, type ResolvedPath } from '../model/path.ts';
import type { DiskContext } from './context.ts';
import { retain } from './shelf.ts';

/** The prefix of all our temporary names; the id of the change follows it. */
const TEMP_PREFIX = '.lookfirst-';

/**
 * The purpose of a temporary name. `new`: new bytes until they get the path's name, and then the
 * old file. `old`: an entry that was renamed away from its path for a moment. `back`: an old file
 * that is about to get its name back.
 */
type TempUse = 'new' | 'old' | 'back';

/**
 * The temporary name beside a path in one change. It follows from the change and the path, so the
 * record of a change that was begun is also the list of its temporary names.
 */
export function tempName(
  { change }: Pick<DiskContext, 'change'>,
  { key }: Pick<ResolvedPath, 'key'>,
  use: TempUse,
): string {
  const place = hash('sha1', key, 'hex').slice(0, 12);
  return `${TEMP_PREFIX}${change}-${place}${use === 'new' ? '' : `-${use}`}`;
}

/**
 * Removes the temporary entries of one path in one change that failed or whose process died. An
 * entry that was renamed away gets its name back. Other entries move out of the workspace: they may
 * be the only copy. Several processes may run this at the same time. `left`: a system error, such as
 * a full disk or a read-only folder, prevented it.
 */
export function clearTemps(context: DiskContext, place: Place): 'clear' | 'left' {
  const { dir, name, path } = place;
  const temp = (use: TempUse): string => `${dir.prefix}/${tempName(context, path, use)}`;
  try {
    // If another file has the original name by now, it keeps it: it is the new, published file.
    const old = temp('old');
    if (isThere(old)) unlessMissing(() => moveIfFree(old, `${dir.prefix}/${name}`));
    for (const use of ['old', 'new', 'back'] as const) {
      const left = temp(use);
      if (isThere(left)) unlessMissing(() => removeTemp(context, left, `${dir.prefix}/${name}`));
    }
    return 'clear';
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return 'left';
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function removeTemp(context: DiskContext, temp: string, proper: string): void {
  const stats = lstatSync(temp, { bigint: true });
  const isInPlace = lstatSync(proper, { bigint: true, throwIfNoEntry: false })?.ino === stats.ino;
  if (isInPlace) unlinkSync(temp);
  else retain(context, temp);
}

/**
 * Renames a file, link or folder to a temporary name that only this process uses (the claim). The
 * caller checks the entry after the rename, because another file could take the name between an
 * earlier check and the rename. Undefined if there is no such entry.
 */
export function claimName(context: DiskContext, place: Place): string | undefined {
  const claim = claimOf(context, place);
  return takeName(context, place, claim) ? claim : undefined;
}

/** The path of the temporary name to which an entry is about to be renamed for a moment. */
export function claimOf(context: DiskContext, { dir, path }: Place): string {
  return `${dir.prefix}/${tempName(context, path, 'old')}`;
}

/** Renames a file, link or folder to the temporary name `claim`. False if there is nothing at `place`. */
export function takeName(context: DiskContext, place: Place, claim: string): boolean {
  context.trace?.('claim');
  try {
    renameSync(at(place), claim);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * Renames a file from its temporary name (`claim`) back to its original name, and returns an empty
 * list. If another file has the original name by now, moves the claimed file out of the workspace
 * instead, and returns its new path.
 */
export function putBack(context: DiskContext, claim: string, place: Place): string[] {
  return moveIfFree(claim, at(place)) ? [] : [retain(context, claim)];
}

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
 * Renames `from` to `to` if `to` is free; false if it is taken. If several callers try at the same
 * time, one succeeds. On file systems without hard links, `to` is briefly an empty file, and bytes
 * written into that file are lost.
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
