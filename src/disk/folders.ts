import { chmodSync, lstatSync, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { isMissing, isTaken } from '../model/fault.ts';
import type { PinnedDirectory, Place } from '../model/path.ts';
import { changeFailed, type DiskContext } from './context.ts';
import { syncFolder } from './file-system.ts';
import { modeOf } from './read.ts';

/**
 * The folders that lead to a file, after the missing ones were created. `dir` is the innermost
 * folder. `undo` removes the created folders that are still empty.
 */
export interface MadeFolders {
  readonly dir: PinnedDirectory;
  readonly made: number;
  /** Permission bits of `dir`. */
  mode(): number;
  /** Makes the names of the new folders durable. */
  sync(): Promise<void>;
  undo(): void;
  close(): void;
}

/**
 * Creates the missing folders below an open folder, each through its parent's handle. A folder that
 * another process creates meanwhile is accepted; a link or a file in its place is an error.
 */
export function makeFolders(context: DiskContext, place: Place, names: readonly string[]): MadeFolders {
  const held: (MadeFolder & { readonly dir: PinnedDirectory })[] = [];
  const close = (): void => {
    for (const step of held) step.dir.close();
  };
  const undo = (): void => {
    for (const step of held.toReversed()) {
      if (step.ours && !removeIfEmpty(`${step.parent.prefix}/${step.name}`)) break;
    }
  };
  try {
    let parent = place.dir;
    for (const name of names) {
      const ours = makeOne(`${parent.prefix}/${name}`);
      const dir = enterMade(context, { parent, name, ours });
      held.push({ parent, name, ours, dir });
      parent = dir;
    }
    const sync = async (): Promise<void> => {
      for (const step of held) if (step.ours) await syncFolder(context, step.parent);
    };
    const mode = (): number => modeOf(statSync(`${parent.prefix}/.`, { bigint: true }));
    return { dir: parent, made: held.filter((step) => step.ours).length, mode, sync, undo, close };
  } catch (error) {
    undo();
    close();
    throw changeFailed(context, error, place.path);
  }
}

interface MadeFolder {
  readonly parent: PinnedDirectory;
  readonly name: string;
  readonly ours: boolean;
}

function enterMade({ newFolders }: DiskContext, { parent, name, ours }: MadeFolder): PinnedDirectory {
  try {
    return newFolders === undefined ? parent.enter(name) : newFolders.enter(parent, name);
  } catch (error) {
    if (ours) removeIfEmpty(`${parent.prefix}/${name}`);
    throw error;
  }
}

function makeOne(path: string): boolean {
  try {
    mkdirSync(path, 0o777);
    return true;
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
}

function removeIfEmpty(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch {
    // Keep the folder: another process has put a file into it, or has given its name to another
    // entry.
    return false;
  }
}

/**
 * Sets a folder's permission bits. Keeps its present setgid and sticky bits: the folder may have
 * inherited them, and the journal does not record them.
 */
export function setFolderMode(dir: PinnedDirectory, mode: number): void {
  const path = `${dir.prefix}/.`;
  chmodSync(path, (mode & 0o777) | (lstatSync(path).mode & 0o7000));
}

/** Removes an empty folder. False if it is not empty; true also if it no longer exists. */
export async function removeFolder(context: DiskContext, place: Place): Promise<boolean> {
  try {
    rmdirSync(`${place.dir.prefix}/${place.name}`);
    await syncFolder(context, place.dir);
    return true;
  } catch (error) {
    if (isMissing(error)) return true;
    if (error instanceof Error && 'code' in error && (error.code === 'ENOTEMPTY' || error.code === 'EEXIST'))
      return false;
    throw changeFailed(context, error, place.path);
  }
}
