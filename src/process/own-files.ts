import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { WholeTree } from '../model/entry.ts';
import { unlessErrno } from '../model/fault.ts';
import { commonGitFolder, repositoryAround } from './git.ts';
import { git, type Unavailable } from './run-git.ts';

/** A snapshot of a tree with more entries is not taken. */
const MAX_ENTRIES = 5_000;

/** Matches names in a git folder that hold objects, samples, or notes that git makes again. */
const NOT_OWN = /^(objects|hooks|lfs|annex|gc\.(log|pid)|FETCH_HEAD|fsmonitor--daemon.*|.*\.lock)$/;

/**
 * Every file, link and folder of a tree, each folder before its contents. Undefined if there are
 * too many.
 */
export function entriesOf({ folder, entries }: WholeTree): readonly string[] | undefined {
  const found: string[] = [];
  const visit = (at: string): boolean => {
    for (const entry of unlessErrno(() => readdirSync(at, { withFileTypes: true })) ?? []) {
      if (entries === 'own' && NOT_OWN.test(entry.name)) continue;
      if (found.length >= MAX_ENTRIES) return false;
      found.push(join(at, entry.name));
      if (entry.isDirectory() && !visit(join(at, entry.name))) return false;
    }
    return true;
  };
  if (!existsSync(folder)) return found;
  return visit(folder) ? [folder, ...found] : undefined;
}

/** The git folder of a repository that begins at a folder, or the one that its worktrees share. */
export function gitFolderOf(root: string): string | undefined {
  const own = join(root, '.git');
  if (repositoryAround(root) !== root) return undefined;
  return commonGitFolder(root) ?? (existsSync(join(own, 'HEAD')) ? own : undefined);
}

/**
 * Files and folders that git ignores. A folder whose whole content is ignored is listed by its name
 * and a slash.
 */
export async function ignoredPaths(
  root: string,
  signal: AbortSignal,
): Promise<readonly string[] | Unavailable> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const result = await git(root, args, { signal });
  if (!result.ok) return { unavailable: result.reason };
  return result.stdout
    .toString('utf8')
    .split('\0')
    .filter((path) => path !== '');
}
