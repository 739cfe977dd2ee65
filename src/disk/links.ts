import { symlinkSync } from 'node:fs';
import { isTaken } from '../model/errno.ts';
import { at, type Place } from '../model/path.ts';
import type { DiskContext } from './context.ts';
import { changeFailed } from './failure.ts';
import { syncFolder } from './folders.ts';
import { type Conflict, conflict } from './replace.ts';

/** Creates a symbolic link if its name is free. Only undo uses it, to restore a link. */
export function makeLink(
  context: DiskContext,
  place: Place,
  target: string,
): { readonly ok: true } | Conflict {
  try {
    symlinkSync(target, at(place));
    syncFolder(context, place.dir);
    return { ok: true };
  } catch (error) {
    if (isTaken(error)) return conflict('exists');
    throw changeFailed(context, error, place.path);
  }
}
