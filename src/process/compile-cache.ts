import { lstatSync, mkdirSync, rmSync } from 'node:fs';
import module from 'node:module';
import { errnoOf, isTaken } from '../model/fault.ts';

/** `enableCompileCache` exists since Node 22.8; the types of Node 20 lack it. */
interface CompileCache {
  readonly enableCompileCache?: (folder: string) => unknown;
}

/**
 * Makes Node keep compiled code in a private folder, so that later starts need not compile it
 * again. `folders`: the folder for the code last, after the folders around it that must be private
 * too. Does nothing if another user can write to one of them, because code from it is run, or if
 * this version of Node has no such cache.
 */
export function keepCompiledCode(folders: readonly string[]): void {
  // The cast is safe: it only adds a member that may be absent.
  const { enableCompileCache } = module as CompileCache;
  const folder = folders.at(-1);
  if (folder === undefined || enableCompileCache === undefined) return;
  if (folders.slice(0, -1).every(isPrivate) && isMade(folder) && isPrivate(folder))
    enableCompileCache(folder);
}

/** Removes all compiled code. The next start of the program compiles it again. */
export function dropCompiledCode(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/** Creates the folder, but not its parents. True if it exists afterwards. */
function isMade(folder: string): boolean {
  try {
    mkdirSync(folder, 0o700);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return isTaken(error);
  }
}

/**
 * True for a folder of this user that no other user can write to. On Windows, which has no such permission bits, true
 * for every folder.
 */
function isPrivate(folder: string): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return false;
  return process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & 0o022) === 0);
}
