import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { unlessErrno } from '../model/fault.ts';
import { defined } from '../model/record.ts';
import type { GitPosition } from '../model/turn.ts';
import { git, gitFolderOf, repositoryAround, textAt, worktreeGitFolder, worktreesAround } from './git.ts';
import { stagedContent } from './git-index.ts';

/** Matches a hash of git: SHA-1 or SHA-256. */
const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

export function isHash(text: string): boolean {
  return HASH.test(text) && !/^0+$/.test(text);
}

/** The hash under which git stores a file. `like`: a hash of the same repository. */
export function blobOf(bytes: Uint8Array, like: string): string {
  const hash = createHash(like.length === 64 ? 'sha256' : 'sha1');
  return hash.update(`blob ${bytes.byteLength}\0`).update(bytes).digest('hex');
}

/** The references in a file `packed-refs`: hashes by full name. */
export function packedRefs(text: string): ReadonlyMap<string, string> {
  const refs = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [hash = '', name] = line.split(' ');
    if (name !== undefined && isHash(hash)) refs.set(name, hash);
  }
  return refs;
}

/** One line of a log of git: the new hash of the reference, and the message. */
export interface LoggedRef {
  readonly hash: string;
  readonly message: string;
}

/** The lines of a log of git, such as `logs/refs/stash`, oldest first. */
export function loggedRefs(text: string): readonly LoggedRef[] {
  return text.split('\n').flatMap((line) => {
    const [, hash = ''] = line.split(' ', 2);
    return isHash(hash) ? [{ hash, message: line.slice(line.indexOf('\t') + 1) }] : [];
  });
}

/** The stashes of a repository, newest first. */
export function stashesIn(folder: string): readonly LoggedRef[] {
  return loggedRefs(textAt(join(gitFolderOf(folder) ?? '', 'logs/refs/stash')) ?? '').toReversed();
}

/**
 * The position of HEAD, branches and index of the repository that contains a folder. Undefined if
 * the folder is in no repository. Runs no program.
 */
export function gitPosition(folder: string): GitPosition | undefined {
  const top = repositoryAround(folder);
  if (top === undefined) return undefined;
  const own = worktreeGitFolder(top);
  const common = resolve(own, textAt(join(own, 'commondir')) ?? '.');
  const head = textAt(join(own, 'HEAD'));
  if (head === undefined) return undefined;
  const refs = branchesOf(common);
  const branch = head.startsWith('ref: ') ? head.slice('ref: '.length) : undefined;
  const commit = branch === undefined ? head : refs.get(branch);
  const branches = [...refs].sort().map((ref) => ref.join(' '));
  return {
    ...defined({ branch, commit }),
    branches: createHash('sha256').update(branches.join('\n')).digest('hex').slice(0, 16),
    index: unlessErrno(() => stagedContent(readFileSync(join(own, 'index')))) ?? '',
  };
}

/** The commit of each branch, by the full name of the branch. */
function branchesOf(common: string): Map<string, string> {
  const packed = packedRefs(textAt(join(common, 'packed-refs')) ?? '');
  const refs = new Map([...packed].filter(([name]) => name.startsWith('refs/heads/')));
  const folder = join(common, 'refs/heads');
  for (const name of unlessErrno(() => readdirSync(folder, { recursive: true, encoding: 'utf8' })) ?? []) {
    const commit = textAt(join(folder, name));
    if (commit !== undefined) refs.set(`refs/heads/${name.replaceAll('\\', '/')}`, commit);
  }
  return refs;
}

/**
 * The ids of all blobs and trees in the trees of commits. Leaves out commits that git does not have.
 * Git reads `HASH^@` as the parents of a commit.
 */
export async function blobsIn(
  folder: string,
  commits: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  if (commits.length === 0) return new Set();
  return listedObjects(folder, ['--no-walk', '--ignore-missing', ...commits], signal);
}

/** The ids of all objects that commits can reach. Empty if git fails. */
export async function listedObjects(
  folder: string,
  commits: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const result = await git(folder, ['rev-list', '--objects', '--no-object-names', ...commits], { signal });
  return new Set(result.ok ? result.stdout.toString('latin1').split('\n') : []);
}

/**
 * The commits that are checked out in the worktrees of the repository around a folder, and those of
 * branches that are being rebased.
 */
export function checkedOut(folder: string): readonly string[] {
  const heads = worktreesAround(folder).flatMap((top) => {
    const own = worktreeGitFolder(top);
    const head = textAt(join(own, 'HEAD')) ?? '';
    const rebased = ['rebase-merge', 'rebase-apply'].map(
      (name) => textAt(join(own, name, 'orig-head')) ?? '',
    );
    if (!head.startsWith('ref: ')) return [head, ...rebased];
    const common = resolve(own, textAt(join(own, 'commondir')) ?? '.');
    const ref = head.slice('ref: '.length);
    return textAt(join(common, ref)) ?? packedRefs(textAt(join(common, 'packed-refs')) ?? '').get(ref) ?? '';
  });
  return [...new Set(heads)].filter(isHash);
}

/** The commit to which a name leads; undefined if there is none. */
export async function commitOf(
  folder: string,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const own = name.startsWith('refs/heads/') ? gitFolderOf(folder) : undefined;
  const branch = own === undefined ? undefined : branchesOf(own).get(name);
  if (branch !== undefined && isHash(branch)) return branch;
  const args = ['rev-parse', '--quiet', '--verify', '--end-of-options', `${name}^{commit}`];
  const result = await git(folder, args, { signal });
  const hash = result.ok ? result.stdout.toString('utf8').trim() : '';
  return isHash(hash) ? hash : undefined;
}

/** The contents of blobs, in order; undefined for a blob that git does not have. */
export async function readBlobs(
  folder: string,
  blobs: readonly string[],
  { signal, repository }: { readonly signal: AbortSignal; readonly repository?: string | undefined },
): Promise<readonly (Buffer | undefined)[]> {
  const input = `${blobs.join('\n')}\n`;
  const { stdout } = await git(folder, ['cat-file', '--batch'], { signal, input, repository });
  let at = 0;
  return blobs.map(() => {
    const end = stdout.indexOf('\n', at);
    if (end < 0) return undefined;
    const [, type, size] = stdout.toString('latin1', at, end).split(' ');
    const start = end + 1;
    at = type === 'blob' ? start + Number(size) + 1 : start;
    return type === 'blob' && at <= stdout.length ? stdout.subarray(start, at - 1) : undefined;
  });
}

/**
 * True if a commit exists, but no branch, tag or checkout leads to it. Logs of git do not count: git
 * cleans them up.
 */
export async function isUnreachable(folder: string, commit: string, signal: AbortSignal): Promise<boolean> {
  return (await anyCommit(folder, [commit, '--not', '--all'], signal)) === true;
}

/** True if a worktree has commits checked out to which no branch or tag leads. */
export async function detachedOnly(folder: string, signal: AbortSignal): Promise<boolean> {
  const args = ['HEAD', '--not', '--branches', '--tags', '--remotes'];
  return (await anyCommit(folder, args, signal)) === true;
}

/** True if there is a commit among those that `git rev-list` lists; undefined if git fails. */
async function anyCommit(
  folder: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const found = await git(folder, ['rev-list', '--max-count=1', ...args], { signal });
  return found.ok ? found.stdout.length > 0 : undefined;
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
  if (how === 'expire')
    return (await anyCommit(folder, ['--reflog', '--not', '--all'], signal)) ?? signal.aborted;
  const args = ['fsck', '--unreachable', '--no-progress', '--connectivity-only'];
  const result = await git(folder, args, { signal });
  return result.ok ? result.stdout.includes('unreachable commit') : signal.aborted;
}
