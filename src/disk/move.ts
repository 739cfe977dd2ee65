import { accessSync, constants, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { errnoOf, isMissing } from '../model/fault.ts';
import { at, type Place } from '../model/path.ts';
import { changeFailed, type DiskContext } from './context.ts';
import { syncFolder } from './file-system.ts';
import { claimName, claimOf, linkIfFree, moveFolderIfFree, moveIfFree, putBack, takeName } from './names.ts';
import { isReadOnly } from './read.ts';
import { type Conflict, conflict } from './replace.ts';
import { retain } from './shelf.ts';

type Moved = { readonly ok: true } | Conflict;

/**
 * Renames a file, link or folder if the new name is free. A crash halfway can leave a file with
 * both names. Across file systems the move fails with EXDEV.
 */
export async function move(context: DiskContext, from: Place, to: Place): Promise<Moved> {
  try {
    const stats = lstatSync(at(from), { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return conflict('missing');
    if (stats.isFile() && isReadOnly(stats)) return conflict('read-only');
    context.trace?.('publish');
    return stats.isDirectory()
      ? await moveFolder(context, from, to)
      : await moveFile(context, { from, to, ino: stats.ino });
  } catch (error) {
    if (isMissing(error)) return conflict('missing');
    throw changeFailed(context, error, to.path);
  }
}

interface Move {
  readonly from: Place;
  readonly to: Place;
  /** The inode of the checked file. If another file has taken the old name, that file is not moved. */
  readonly ino: bigint;
}

async function moveFile(context: DiskContext, request: Move): Promise<Moved> {
  const { from, to, ino } = request;
  const claim = claimOf(context, from);
  const linked = linkIfFree(at(from), at(to));
  if (linked === 'taken') return conflict('exists');
  const taken = takeOld(context, { ...request, claim, linked });
  if (!taken || inodeOf(claim) !== ino) {
    const retained = taken ? putBack(context, claim, from) : [];
    if (linked === 'linked') retained.push(...takeBack(context, request));
    return conflict('changed', { retained });
  }
  if (linked === 'linked') unlinkSync(claim);
  else if (!isPublished(context, request, claim))
    return conflict('exists', { retained: putBack(context, claim, from) });
  try {
    await syncBoth(context, from, to);
  } catch (error) {
    const back = claimName(context, to);
    if (back !== undefined) putBack(context, back, inodeOf(back) === ino ? from : to);
    throw error;
  }
  return { ok: true };
}

/**
 * Renames the file from `claim` to its new name; false if that name is taken. On an error, gives
 * the file its old name back and throws.
 */
function isPublished(context: DiskContext, { from, to }: Move, claim: string): boolean {
  try {
    return moveIfFree(claim, at(to));
  } catch (error) {
    putBack(context, claim, from);
    throw error;
  }
}

/**
 * Renames the file from its old name to the temporary name `claim`; false if the old name no longer
 * exists. On an error, removes the new name if the file already has it, and throws.
 */
function takeOld(
  context: DiskContext,
  request: Move & { readonly claim: string; readonly linked: string },
): boolean {
  try {
    return takeName(context, request.from, request.claim);
  } catch (error) {
    if (request.linked === 'linked') takeBack(context, request);
    // Report the old path: the rename that failed changes only the folder of the old name.
    throw isMissing(error) ? error : changeFailed(context, error, request.from.path);
  }
}

/**
 * Removes the new name after a move failed. If the moved file has no other name any more, moves it
 * out of the workspace instead. If another file has taken the new name, that file keeps it. Returns
 * the paths of files that are now outside the workspace.
 */
function takeBack(context: DiskContext, { to, ino }: Move): string[] {
  // Use a temporary name in the folder of the new name: the folder of the old name may be
  // read-only.
  const claim = claimOf(context, to);
  try {
    renameSync(at(to), claim);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  const stats = lstatSync(claim, { bigint: true });
  if (stats.ino !== ino) return putBack(context, claim, to);
  if (stats.nlink === 1n) return [retain(context, claim)];
  unlinkSync(claim);
  return [];
}

async function moveFolder(context: DiskContext, from: Place, to: Place): Promise<Moved> {
  try {
    if (!moveFolderIfFree(at(from), at(to))) return conflict('exists');
  } catch (error) {
    throw errnoOf(error) === 'EACCES' && !mayLeave(from) ? changeFailed(context, error, from.path) : error;
  }
  try {
    await syncBoth(context, from, to);
  } catch (error) {
    moveFolderIfFree(at(to), at(from));
    throw error;
  }
  return { ok: true };
}

/**
 * False if this process may not write the folder to be moved or its parent. The error of a failed
 * rename does not tell whether the old or the new place is at fault.
 */
function mayLeave({ dir, name }: Place): boolean {
  try {
    accessSync(`${dir.prefix}/.`, constants.W_OK);
    accessSync(`${dir.prefix}/${name}`, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

async function syncBoth(context: DiskContext, from: Place, to: Place): Promise<void> {
  context.trace?.('folder-sync');
  await syncFolder(context, to.dir);
  await syncFolder(context, from.dir);
}

function inodeOf(path: string): bigint {
  return lstatSync(path, { bigint: true }).ino;
}
