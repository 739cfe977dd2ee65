import { constants, copyFileSync, unlinkSync } from 'node:fs';
import { errnoOf, isTaken } from '../model/errno.ts';
import { at, type Place } from '../model/path.ts';
import { moveIfFree } from './free-name.ts';

/** Gives a retained file its name in the workspace again; false if something has that name. */
export function release(file: string, place: Place): boolean {
  try {
    return moveIfFree(file, at(place));
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error;
  }
  try {
    copyFileSync(file, at(place), constants.COPYFILE_EXCL);
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
  unlinkSync(file);
  return true;
}
