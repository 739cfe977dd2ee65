import { lstatSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { errnoOf, isTaken } from '../model/errno.ts';

/** Node has it since 22.8; the types of Node 20 lack it. */
interface CompileCache {
  readonly enableCompileCache?: (folder: string) => unknown;
}

/**
 * Lets Node keep compiled code in the state folder, so that later starts need not compile it again. Node keeps one
 * cache for each version and set of flags, and ignores files that do not fit. The folder must be private: code from it
 * is run. Without such a folder, or on an older Node, starts compile as usual.
 */
export function keepCompiledCode(home: string): void {
  // The cast is safe: it only adds a member that may be absent.
  const { enableCompileCache } = module as CompileCache;
  if (enableCompileCache === undefined) return;
  const folder = join(home, 'compiled');
  if (isPrivate(home) && isMade(folder) && isPrivate(folder)) enableCompileCache(folder);
}

/** True if the folder exists afterwards. The state folder itself is not made here. */
function isMade(folder: string): boolean {
  try {
    mkdirSync(folder, 0o700);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return isTaken(error);
  }
}

/** True for a folder of this user that no other user can write to. Windows has no such bits and no user numbers. */
function isPrivate(folder: string): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isDirectory()) return false;
  return process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & 0o022) === 0);
}
