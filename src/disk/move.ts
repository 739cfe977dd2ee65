import { lstatSync, renameSync, unlinkSync } from 'node:fs';
import { errnoOf, isMissing } from '../model/errno.ts';
import { at, type Place } from '../model/path.ts';
import { linkIfFree } from './claim.ts';
import type { DiskContext } from './context.ts';
import { changeFailed } from './failure.ts';
import { syncFolder } from './folders.ts';
import { type Conflict, conflict } from './replace.ts';

/**
 * Gives a file, link or folder another name that must be free. A file has both names for a moment rather than none;
 * whoever takes the new name first keeps it. Between file systems it fails with EXDEV.
 */
export function move(context: DiskContext, from: Place, to: Place): { readonly ok: true } | Conflict {
  try {
    const stats = lstatSync(at(from), { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) return conflict('missing');
    const moved = stats.isDirectory() ? moveFolder(from, to) : moveName(from, to, stats.ino);
    if (moved.ok) {
      context.trace?.('folder-sync');
      syncFolder(context, to.dir);
      syncFolder(context, from.dir);
    }
    return moved;
  } catch (error) {
    if (isMissing(error)) return conflict('missing');
    throw changeFailed(error, to.path);
  }
}

function moveName(from: Place, to: Place, ino: bigint): { readonly ok: true } | Conflict {
  if (!linkIfFree(at(from), at(to))) return conflict('exists');
  if (lstatSync(at(to), { bigint: true }).ino !== ino || lstatSync(at(from), { bigint: true }).ino !== ino) {
    unlinkSync(at(to));
    return conflict('changed');
  }
  unlinkSync(at(from));
  return { ok: true };
}

function moveFolder(from: Place, to: Place): { readonly ok: true } | Conflict {
  if (lstatSync(at(to), { throwIfNoEntry: false }) !== undefined) return conflict('exists');
  try {
    renameSync(at(from), at(to));
    return { ok: true };
  } catch (error) {
    // Someone made the name meanwhile. An empty folder in its place is replaced, and nothing is lost by that.
    const errno = errnoOf(error);
    if (errno === 'ENOTEMPTY' || errno === 'EEXIST' || errno === 'ENOTDIR') return conflict('exists');
    throw error;
  }
}
