import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing } from '../model/errno.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { DiskContext } from './context.ts';
import { fingerprintOf } from './hash.ts';
import { unlinkIfThere } from './unlink-if-there.ts';

export interface RetainedFile {
  readonly file: string;
  readonly size: number;
  readonly sinceMs: number;
  /** What someone wrote into a displaced file after it was copied: the hash of what it held then. */
  readonly lateOf?: string;
}

/**
 * What commits have displaced and nobody has taken over yet: a killed process left it, or strangers collided. Files only: a
 * folder or a link that a stranger had put in a file's place stays there, and nobody follows it.
 */
export function listRetained(context: DiskContext): RetainedFile[] {
  return namesIn(context.retained).flatMap((name) => {
    const file = join(context.retained, name);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats === undefined || !stats.isFile()) return [];
    const late = /-late-([0-9a-f]{64})$/.exec(name)?.[1];
    const kept = { file, size: stats.size, sinceMs: stats.ctimeMs };
    return [late === undefined ? kept : { ...kept, lateOf: late }];
  });
}

/** Undefined if another process has taken it over since it was listed. */
export function fingerprintOfRetained({ file }: RetainedFile): Fingerprint | undefined {
  try {
    return fingerprintOf(readFileSync(file));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export function dropRetained({ file }: RetainedFile): void {
  unlinkIfThere(file);
}

/** None if someone has removed the folder. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
