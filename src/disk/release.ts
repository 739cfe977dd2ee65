import { constants, copyFileSync, unlinkSync } from 'node:fs';
import { errnoOf, isTaken } from '../model/errno.ts';
import { at, type Place } from '../model/path.ts';
import { moveIfFree } from './free-name.ts';

/** Moves a retained file back to its name in the workspace; false if the name is taken. */
export function releaseHandles(file: string, place: Place): boolean {
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
