import { type Dirent, lstatSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, isMissing } from '../model/errno.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { DiskContext } from './context.ts';
import { fingerprintOf } from './hash.ts';
import { KEPT_FOLDER } from './retain.ts';
import { unlinkIfThere } from './unlink-if-there.ts';

export interface RetainedFile {
  readonly file: string;
  readonly size: number;
  readonly sinceMs: number;
  /** What someone wrote into a displaced file after it was copied: the hash of what it held then. */
  readonly lateOf?: string;
}

/**
 * What commits have displaced and nobody has taken over yet: a killed process left it, or strangers collided. The files of a
 * folder that we took are listed one by one. A folder or link that a stranger put in a file's place is not followed.
 */
export function listRetained(context: DiskContext): RetainedFile[] {
  return namesIn(context.retained).flatMap((name) => {
    const path = join(context.retained, name);
    return name.startsWith(KEPT_FOLDER) ? filesBelow(path) : fileAt(path, name);
  });
}

function fileAt(file: string, name: string): RetainedFile[] {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return [];
  const late = /-late-([0-9a-f]{64})$/.exec(name)?.[1];
  const kept = { file, size: stats.size, sinceMs: stats.ctimeMs };
  return [late === undefined ? kept : { ...kept, lateOf: late }];
}

function filesBelow(folder: string): RetainedFile[] {
  const files: RetainedFile[] = [];
  for (const entry of entriesIn(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) files.push(...filesBelow(path));
    else if (entry.isFile()) files.push(...fileAt(path, ''));
  }
  return files;
}

/** Removes folders that we took out of a workspace, as far as nothing is left in them but empty folders and links. */
export function dropEmptied(folder: string): void {
  try {
    for (const entry of entriesIn(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) dropEmptied(path);
      else if (entry.isSymbolicLink()) unlinkIfThere(path);
    }
    rmdirSync(folder);
  } catch (error) {
    // A file that someone wrote late is in it: it stays, and the next gc finds it.
    if (errnoOf(error) === undefined) throw error;
  }
}

/** Removes what is left of every such folder that was taken before a moment. A younger one may have to go back yet. */
export function dropEmptiedFolders(context: DiskContext, beforeMs: number): void {
  for (const name of namesIn(context.retained)) {
    const takenMs = Number(name.slice(KEPT_FOLDER.length).split('-')[0]);
    if (name.startsWith(KEPT_FOLDER) && takenMs < beforeMs) dropEmptied(join(context.retained, name));
  }
}

function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
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
