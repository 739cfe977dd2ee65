import { constants, copyFileSync, linkSync, unlinkSync } from 'node:fs';
import { errnoOf, isTaken } from '../model/errno.ts';
import { at, type Place } from '../model/path.ts';

/** Gives a retained file its name in the workspace again; false if something has that name. */
export function release(file: string, place: Place): boolean {
  try {
    linkSync(file, at(place));
  } catch (error) {
    if (isTaken(error)) return false;
    if (errnoOf(error) !== 'EXDEV') throw error;
    copyFileSync(file, at(place), constants.COPYFILE_EXCL);
  }
  unlinkSync(file);
  return true;
}
