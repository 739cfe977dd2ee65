import { closeSync, constants, type Dirent, lstatSync, openSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, unlessMissing } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { DiskContext } from './context.ts';
import { fingerprintOfOpen } from './held-files.ts';
import { KEPT_FOLDER } from './publication.ts';
import { unlinkIfThere } from './ready-files.ts';

export interface RetainedFile {
  readonly file: string;
  readonly size: number;
  readonly sinceMs: number;
  /**
   * Set if this file is a second copy, made because a program wrote into a replaced or removed file
   * after the first copy. The value is the hash of the first copy.
   */
  readonly lateOf?: string;
}

/**
 * Lists the files in `retained`, and the files in the folders that were moved there. Omits folders
 * that `claimed` accepts. Does not follow links.
 */
export function listRetained(context: DiskContext, claimed: IsClaimed): RetainedFile[] {
  return namesIn(context.retained).flatMap((name) => {
    const path = join(context.retained, name);
    if (!name.startsWith(KEPT_FOLDER)) return fileAt(path, name);
    return claimed(path) ? [] : filesBelow(path);
  });
}

/** True if undo needs the files in this folder to restore old contents. */
export type IsClaimed = (folder: string) => boolean;

function fileAt(file: string, name: string): RetainedFile[] {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return [];
  const late = /-late-([0-9a-f]{64})$/.exec(name)?.[1];
  const kept = { file, size: stats.size, sinceMs: stats.ctimeMs };
  return [late === undefined ? kept : { ...kept, lateOf: late }];
}

function filesBelow(folder: string): RetainedFile[] {
  return entriesIn(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? fileAt(path, '') : [];
  });
}

/** Removes a folder that we took out of a workspace, if only empty folders and links are left in it. */
export function dropEmptied(folder: string): void {
  try {
    for (const entry of entriesIn(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) dropEmptied(path);
      else if (entry.isSymbolicLink()) unlinkIfThere(path);
    }
    rmdirSync(folder);
  } catch (error) {
    // Ignore a system error, such as a folder that still contains a file. The folder then stays,
    // and the next `lookfirst gc` finds the file.
    if (errnoOf(error) === undefined) throw error;
  }
}

/**
 * Applies `dropEmptied` to every folder that was moved out of a workspace before `beforeMs`. A
 * folder moved out later may still have to be moved back.
 */
export function dropEmptiedFolders(context: DiskContext, beforeMs: number, claimed: IsClaimed): void {
  for (const name of namesIn(context.retained)) {
    const path = join(context.retained, name);
    const takenMs = Number(name.slice(KEPT_FOLDER.length).split('-')[0]);
    if (name.startsWith(KEPT_FOLDER) && takenMs < beforeMs && !claimed(path)) dropEmptied(path);
  }
}

function entriesIn(folder: string): Dirent[] {
  return unlessMissing(() => readdirSync(folder, { withFileTypes: true })) ?? [];
}

/** The file's fingerprint; undefined if another process has moved the file since it was listed. */
export function fingerprintOfRetained({ file }: RetainedFile): Fingerprint | undefined {
  const fd = unlessMissing(() =>
    openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK),
  );
  if (fd === undefined) return undefined;
  try {
    return fingerprintOfOpen(fd);
  } finally {
    closeSync(fd);
  }
}

export function dropRetained({ file }: RetainedFile): void {
  unlinkIfThere(file);
}

/** The names in a folder; empty if the folder does not exist. */
function namesIn(folder: string): string[] {
  return unlessMissing(() => readdirSync(folder)) ?? [];
}
