import { type ExecFileException, execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errnoOf, unlessErrno } from '../model/fault.ts';

/** The reason why git could not be used. */
export interface Unavailable {
  readonly unavailable: string;
}

/** The output of git. If it failed, what it printed before, and the first line of its error. */
type GitResult =
  | { readonly ok: true; readonly stdout: Buffer }
  | { readonly ok: false; readonly stdout: Buffer; readonly reason: string };

export interface GitOptions {
  /** Default: a time limit of ten seconds. */
  readonly signal?: AbortSignal | undefined;
  readonly index?: string;
  /** Options that turn off the user's clean filters: `GitFacts.withoutFilters`. */
  readonly filters?: readonly string[];
  /** A repository to use instead of the one around the folder. */
  readonly repository?: string | undefined;
  readonly input?: string;
}

const TIMEOUT_MS = 10_000;

/** Settings that keep git from running any program of the user. */
const QUIET = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.untrackedCache=false',
  'core.splitIndex=false',
].flatMap((setting) => ['-c', setting]);

/**
 * Runs git in a folder, without any hook or monitor that the configuration of the user or the
 * repository names.
 */
export function git(root: string, args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  return run(root, [...QUIET, ...(options.filters ?? []), ...args], options);
}

/** The output of git; undefined if git is missing or fails. */
export async function gitOutput(folder: string, args: readonly string[]): Promise<string | undefined> {
  const result = await git(folder, args);
  return result.ok ? result.stdout.toString('utf8') : undefined;
}

function run(root: string, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const { signal = AbortSignal.timeout(TIMEOUT_MS), index, repository, input } = options;
  const env = {
    ...process.env,
    // Git may renew a private index. It must not touch the user's.
    GIT_OPTIONAL_LOCKS: index === undefined ? '0' : '1',
    GIT_TERMINAL_PROMPT: '0',
    LC_ALL: 'C',
    ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
    ...(repository === undefined ? {} : { GIT_DIR: repository, GIT_WORK_TREE: root }),
  };
  return new Promise((done) => {
    const options = {
      cwd: root,
      env,
      signal,
      encoding: 'buffer',
      maxBuffer: Number.POSITIVE_INFINITY,
    } as const;
    const child = execFile('git', args, options, (error, stdout, stderr) => {
      const [reason = ''] = stderr.toString('utf8').split('\n', 1);
      if (error === null) done({ ok: true, stdout });
      else if (typeof error.code === 'string') done({ ok: false, stdout, reason: reasonOf(error) });
      else done({ ok: false, stdout, reason: reason === '' ? `git ended with ${error.code}` : reason });
    });
    // Without free file descriptors, the child has no pipes.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input ?? '');
  });
}

function reasonOf(error: ExecFileException): string {
  if (error.name === 'AbortError') return 'the time limit was reached';
  return error.code === 'ENOENT' ? 'git is not installed' : error.message;
}

/** The parts of what git prints with `-z`. */
export function namesPrinted({ stdout }: GitResult): readonly string[] {
  return stdout
    .toString('utf8')
    .split('\0')
    .filter((part) => part !== '');
}

/** Returns the paths that git ignores. Empty if git is missing or fails, or if the folder is in no repository. */
export async function ignoredByGit(folder: string, paths: readonly string[]): Promise<ReadonlySet<string>> {
  if (paths.length === 0) return new Set();
  const args = ['check-ignore', '--no-index', '-z', '--stdin'];
  // Git fails if it ignores no path, and at the first path that is in a submodule.
  return new Set(namesPrinted(await git(folder, args, { input: paths.join('\0') })));
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

/** The git folder of the repository around a folder, which all its worktrees share. */
export function gitFolderOf(folder: string): string | undefined {
  const top = repositoryAround(folder);
  if (top === undefined) return undefined;
  const own = submoduleFolder(top) ?? join(top, '.git');
  return commonGitFolder(top) ?? (existsSync(join(own, 'HEAD')) ? own : undefined);
}

/** The git folder of a submodule, which is in the git folder of the repository around it. */
function submoduleFolder(top: string): string | undefined {
  const own = worktreeGitFolder(top);
  const around = own.endsWith('/.git') ? undefined : repositoryAround(dirname(top));
  return around !== undefined && own.startsWith(join(worktreeGitFolder(around), 'modules/'))
    ? own
    : undefined;
}

/** The git folder of the worktree that begins at a folder: its index and its HEAD are there. */
export function worktreeGitFolder(top: string): string {
  const pointer = /^gitdir: (.+)$/.exec(textAt(join(top, '.git')) ?? '')?.[1];
  return pointer === undefined ? join(top, '.git') : resolve(top, pointer);
}

/** The text of a small file of git, without white space at its ends. */
export function textAt(path: string): string | undefined {
  return unlessErrno(() => readFileSync(path, 'utf8').trim());
}

/**
 * The canonical folders of all worktrees of the repository around a folder, the main one first.
 * Empty if the folder is in no repository. Leaves out a worktree that its repository does not list,
 * or that does not point back to it.
 */
export function worktreesAround(folder: string): readonly string[] {
  const top = repositoryAround(folder);
  if (top === undefined) return [];
  const common = isMainWorktree(top) ? join(top, '.git') : commonGitFolder(top);
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

/** The command behind a git alias; undefined if there is no such alias. */
export async function aliasOf(
  folder: string,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const result = await git(folder, ['config', '--get', `alias.${name}`], { signal });
  return result.ok ? result.stdout.toString('utf8').trim() : undefined;
}
