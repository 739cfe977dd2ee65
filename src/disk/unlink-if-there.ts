import { unlinkSync } from 'node:fs';
import { isMissing } from '../model/errno.ts';

/** Removes one of our own files. No error if another process has already removed it. */
export function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
