import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoOf, unlessErrno } from '../model/fault.ts';

const TIMEOUT_MS = 10_000;

/** Settings that keep git from running a program that the user's or the repository's configuration names. */
const QUIET = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null'];

/** Returns the paths that git ignores. Empty if git is missing or fails, or if the folder is in no repository. */
export async function ignoredByGit(folder: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
  if (paths.length === 0) return new Set();
  const args = [...QUIET, 'check-ignore', '--no-index', '-z', '--stdin'];
  const text = await new Promise<string>((resolve) => {
    const child = spawn('git', args, { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'], timeout: TIMEOUT_MS });
    let output = '';
    child.once('error', () => resolve(''));
    child.once('close', () => resolve(output));
    // Without free file descriptors, the child has no pipes.
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.stdin?.once('error', () => undefined);
    child.stdin?.end(paths.join('\0'));
  });
  return new Set(text.split('\0').filter((path) => path !== ''));
}

/** The nearest folder at or above this one that git calls a repository or a worktree; undefined if there is none. */
export function repositoryAround(folder: string): string | undefined {
  for (let current = folder; ; current = dirname(current)) {
    if (existsSync(join(current, '.git'))) return current;
    if (dirname(current) === current) return undefined;
  }
}

/**
 * The common git folder of a worktree, which its repository shares with other worktrees. Undefined
 * if the folder is not a worktree, or if the repository does not list it: a `.git` file alone could
 * name any folder.
 */
export function commonGitFolder(root: string): string | undefined {
  try {
    const pointer = /^gitdir: (.+)$/m.exec(readFileSync(join(root, '.git'), 'utf8'))?.[1];
    if (pointer === undefined) return undefined;
    const own = realpathSync.native(resolve(root, pointer.trim()));
    const back = resolve(own, readFileSync(join(own, 'gitdir'), 'utf8').trim());
    if (realpathSync.native(back) !== realpathSync.native(join(root, '.git'))) return undefined;
    const common = realpathSync.native(resolve(own, readFileSync(join(own, 'commondir'), 'utf8').trim()));
    const isKnown = dirname(own) === join(common, 'worktrees') && existsSync(join(common, 'HEAD'));
    return isKnown && statSync(join(common, 'objects')).isDirectory() ? common : undefined;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * The canonical folders of all worktrees of the repository around a folder, the main one first.
 * Empty if the folder is in no repository. Leaves out a worktree that its repository does not list,
 * or that does not point back to it.
 */
export function worktreesAround(folder: string): readonly string[] {
  const top = repositoryAround(folder);
  if (top === undefined) return [];
  const common = statSync(join(top, '.git')).isDirectory() ? join(top, '.git') : commonGitFolder(top);
  if (common === undefined) return [top];
  const main = basename(common) === '.git' ? [dirname(common)] : [];
  const names = unlessErrno(() => readdirSync(join(common, 'worktrees'))) ?? [];
  const linked = names.flatMap((name) => {
    const worktree = linkedWorktree(join(common, 'worktrees', name));
    return worktree !== undefined && commonGitFolder(worktree) === common ? [worktree] : [];
  });
  return [...new Set([...main, ...linked])];
}

/** True if there is anything at a path, for example a file in a worktree that may have been removed. */
export function pathExists(path: string): boolean {
  return existsSync(path);
}

/** True for the worktree that holds the repository itself. */
export function isMainWorktree(top: string): boolean {
  return statSync(join(top, '.git'), { throwIfNoEntry: false })?.isDirectory() === true;
}

function linkedWorktree(own: string): string | undefined {
  // Return undefined if the worktree's folder was deleted: the repository still has its entry.
  return unlessErrno(() => realpathSync.native(dirname(readFileSync(join(own, 'gitdir'), 'utf8').trim())));
}

/** The commit that is checked out in a worktree; undefined without a commit or without git. */
export async function headRevision(folder: string): Promise<string | undefined> {
  return (await gitOutput(folder, ['rev-parse', '--verify', 'HEAD']))?.trim();
}

/**
 * What git prints for a command that changes nothing; undefined if git is missing or fails. Git runs
 * no program that the configuration names.
 */
export function gitOutput(folder: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn('git', [...QUIET, ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: TIMEOUT_MS,
    });
    const chunks: Buffer[] = [];
    child.once('error', () => resolve(undefined));
    // Without free file descriptors, the child has no pipes.
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('close', (code) => resolve(code === 0 ? Buffer.concat(chunks).toString('utf8') : undefined));
  });
}
