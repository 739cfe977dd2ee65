import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { unlessErrno } from '../model/fault.ts';
import { commonGitFolder, repositoryAround } from './git.ts';
import { blobOf, blobsIn, isHash, type LoggedRef, loggedRefs } from './git-reach.ts';
import { git } from './run-git.ts';

/** A file of a repository that differs from the last commit. */
export interface GitStatus {
  /** Relative to the top of the repository. Ends with a slash if git names a whole folder. */
  readonly path: string;
  /** Git's letter for the index (`.` means like the last commit), or `?` untracked, `!` ignored. */
  readonly index: string;
  /** Git's letter for the file, compared with the index. */
  readonly file: string;
  /** Git's name of the content in the index. */
  readonly blob: string;
}

/** The files that `statusOf` lists besides tracked ones: none, untracked files, or ignored ones too. */
type Others = 'no' | 'untracked' | 'ignored';

/**
 * The files below a folder, or those that pathspecs match, that differ from the last commit. Leaves
 * out submodules. Empty if git fails.
 */
export async function statusOf(
  folder: string,
  { paths, others, signal }: { paths: readonly string[]; others: Others; signal: AbortSignal },
): Promise<readonly GitStatus[]> {
  const args = ['status', '--porcelain=v2', '-z', '--no-renames', '--ignore-submodules'];
  args.push(`--untracked-files=${others === 'no' ? 'no' : 'all'}`);
  if (others === 'ignored') args.push('--ignored=traditional');
  const result = await git(folder, [...args, '--', ...paths], { signal });
  const entries = result.ok ? result.stdout.toString('utf8').split('\0') : [];
  return entries.flatMap((entry): GitStatus[] => {
    const [kind = '', letters = '', ...fields] = entry.split(' ');
    if (kind === '?' || kind === '!') return [{ path: entry.slice(2), index: kind, file: '.', blob: '' }];
    const [index = '.', file = '.'] = letters;
    if (kind === '1') return [{ path: fields.slice(6).join(' '), index, file, blob: fields[5] ?? '' }];
    return kind === 'u' ? [{ path: fields.slice(8).join(' '), index: '.', file: 'U', blob: '' }] : [];
  });
}

/** The paths that `git clean` with these arguments would remove, as git prints them in a dry run. */
export async function cleanedBy(
  folder: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const result = await git(folder, ['-c', 'core.quotePath=false', 'clean', ...args], { signal });
  const lines = result.ok ? result.stdout.toString('utf8').split('\n') : [];
  return lines.flatMap((line) => {
    const name = /^Would remove (.+)$/.exec(line)?.[1];
    if (name === undefined) return [];
    return name.startsWith('"') ? [name.slice(1, -1).replace(/\\(.)/g, '$1')] : [name];
  });
}

/** The names of the files in the tree of a commit; undefined if there is no such commit. */
export async function filesIn(
  folder: string,
  commit: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const args = ['ls-tree', '-r', '-z', '--name-only', '--full-tree', commit];
  const result = await git(folder, args, { signal });
  return result.ok ? new Set(result.stdout.toString('utf8').split('\0')) : undefined;
}

/** The stashes of a repository, newest first. */
export function stashesIn(folder: string): readonly LoggedRef[] {
  const common = commonFolder(folder);
  const log =
    common === undefined
      ? undefined
      : unlessErrno(() => readFileSync(join(common, 'logs/refs/stash'), 'utf8'));
  return log === undefined ? [] : loggedRefs(log).toReversed();
}

/** The git folder that all worktrees of the repository around a folder share. */
export function commonFolder(folder: string): string | undefined {
  const top = repositoryAround(folder);
  return top === undefined ? undefined : (commonGitFolder(top) ?? join(top, '.git'));
}

/** The commit to which a name leads; undefined if there is none. */
export async function commitOf(
  folder: string,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const args = ['rev-parse', '--quiet', '--verify', '--end-of-options', `${name}^{commit}`];
  const result = await git(folder, args, { signal });
  const hash = result.ok ? result.stdout.toString('utf8').trim() : '';
  return isHash(hash) ? hash : undefined;
}

/** The content of a file that git has. */
export async function blobBytes(
  folder: string,
  blob: string,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const result = await git(folder, ['cat-file', 'blob', blob], { signal });
  return result.ok ? result.stdout : undefined;
}

/** Commits that lose what leads to them. */
export interface Dropped {
  readonly commits: readonly string[];
  /** Commits that stay. */
  readonly keep: readonly string[];
  /** Patterns of references that go. Without it, all of them go, and the repository. */
  readonly without?: readonly string[];
  /** True if the present files go, too. */
  readonly takesFiles?: true;
}

/** Content that git has, with a path of it from the top of the repository. */
export interface GitContent {
  readonly path: string;
  readonly blob: string;
}

/** The contents that only these commits have: no other reference, no present file. */
export async function onlyIn(
  folder: string,
  { commits, keep, without, takesFiles }: Dropped,
  signal: AbortSignal,
): Promise<readonly GitContent[]> {
  const others = without === undefined ? [] : [...without.map((ref) => `--exclude=${ref}`), '--all'];
  const args = ['rev-list', '--objects', ...commits, '--not', ...keep, ...others];
  const listed = await git(folder, args, { signal });
  const lines = listed.ok ? listed.stdout.toString('utf8').split('\n') : [];
  const objects = lines.filter((line) => line.includes(' '));
  if (objects.length === 0) return [];
  const known = without === undefined ? new Set() : await blobsIn(folder, ['HEAD'], signal);
  const input = objects.filter((line) => !known.has(line.slice(0, line.indexOf(' ')))).join('\n');
  const format = '--batch-check=%(objecttype) %(objectname) %(rest)';
  const types = await git(folder, ['cat-file', format], { signal, input });
  const top = repositoryAround(folder) ?? folder;
  return (types.ok ? types.stdout.toString('utf8').split('\n') : []).flatMap((line) => {
    const [type, blob = '', ...names] = line.split(' ');
    const path = names.join(' ');
    const isThere = takesFiles === undefined && hasContent(join(top, path), blob);
    return type === 'blob' && !isThere ? [{ path, blob }] : [];
  });
}

/** True if a file has the content to which git gives this name. */
export function hasContent(path: string, hash: string): boolean {
  const bytes = unlessErrno(() => readFileSync(path));
  return bytes !== undefined && blobOf(bytes, hash) === hash;
}

/**
 * True if a repository has commits that a command would make impossible to restore: `expire`, to
 * which only logs lead; `prune`, to which nothing leads; `rewrite`, any. If git cannot say so in
 * time, true.
 */
export async function hasHistory(
  folder: string,
  how: 'expire' | 'prune' | 'rewrite',
  signal: AbortSignal,
): Promise<boolean> {
  if (how === 'rewrite') return (await commitOf(folder, 'HEAD', signal)) !== undefined;
  const args =
    how === 'expire'
      ? ['rev-list', '--max-count=1', '--reflog', '--not', '--all']
      : ['fsck', '--unreachable', '--no-progress', '--connectivity-only'];
  const result = await git(folder, args, { signal });
  if (!result.ok) return signal.aborted;
  return how === 'expire' ? result.stdout.length > 0 : result.stdout.includes('unreachable commit');
}

/** True if a worktree has commits checked out to which no branch or tag leads. */
export async function detachedOnly(folder: string, signal: AbortSignal): Promise<boolean> {
  const args = ['rev-list', '--max-count=1', 'HEAD', '--not', '--branches', '--tags', '--remotes'];
  const result = await git(folder, args, { signal });
  return result.ok && result.stdout.length > 0;
}

/** The entry at a path, without following a link. Undefined for anything but files, links and folders. */
export function entryAt(
  path: string,
): { readonly kind: 'file' | 'folder'; readonly size: number } | undefined {
  const stats = unlessErrno(() => lstatSync(path));
  if (stats?.isDirectory() === true) return { kind: 'folder', size: 0 };
  return stats?.isFile() === true || stats?.isSymbolicLink() === true
    ? { kind: 'file', size: stats.size }
    : undefined;
}

/** The folder with its links followed; the path itself if there is nothing. */
export function realFolder(path: string): string {
  return unlessErrno(() => realpathSync.native(path)) ?? path;
}

/** At most this many files of a folder are listed. */
const MAX_LISTED = 10_000;

/**
 * The paths of files below a folder, and of the repositories inside it, which are not entered.
 * `skips`: folders and files to leave out.
 */
export function pathsBelow(folder: string, skips: (path: string) => boolean): readonly string[] {
  const found: string[] = [];
  const folders = [folder];
  for (let at = folders.pop(); at !== undefined && found.length < MAX_LISTED; at = folders.pop())
    for (const entry of unlessErrno(() => readdirSync(at ?? '', { withFileTypes: true })) ?? []) {
      const path = join(at, entry.name);
      if (entry.name === '.git' || skips(path)) continue;
      if (entry.isDirectory() && !existsSync(join(path, '.git'))) folders.push(path);
      else found.push(path);
    }
  return found;
}
