import { createHash } from 'node:crypto';
import { git } from './run-git.ts';

/** The hashes of all files in the trees of commits. Leaves out commits that git does not have. */
export async function blobsIn(
  folder: string,
  commits: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const commit of commits) {
    const listed = await git(folder, ['ls-tree', '-r', '-z', '--full-tree', commit], { signal });
    // Git prints `100644 blob HASH`, a tab and the path.
    for (const line of listed.ok ? listed.stdout.toString('latin1').split('\0') : [])
      found.add(line.slice(line.indexOf(' ', 7) + 1, line.indexOf('\t')));
  }
  return found;
}

/** The commits that the worktrees of a repository have checked out. */
export async function checkedOut(root: string, signal: AbortSignal): Promise<readonly string[]> {
  const listed = await git(root, ['worktree', 'list', '--porcelain'], { signal });
  const lines = listed.ok ? listed.stdout.toString('utf8').split('\n') : [];
  return [...new Set(lines.flatMap((line) => (line.startsWith('HEAD ') ? line.slice(5) : [])))].filter(
    isHash,
  );
}

/**
 * True if a commit exists, but no branch, tag or checkout leads to it. Logs of git do not count: git
 * cleans them up.
 */
export async function isUnreachable(folder: string, commit: string, signal: AbortSignal): Promise<boolean> {
  const found = await git(folder, ['rev-list', '--max-count=1', commit, '--not', '--all'], { signal });
  return found.ok && found.stdout.length > 0;
}

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
