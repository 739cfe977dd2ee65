import { dirname, relative } from 'node:path';
import { git, namesPrinted, repositoryAround } from './git.ts';
import { hasContent } from './git-refs.ts';

/** A file of a repository that differs from the last commit. */
export interface GitStatus {
  /** Relative to the top of the repository. Ends with a slash if git names a whole folder. */
  readonly path: string;
  /** Git's letter for the index (`.` means like the last commit), or `?` untracked, `!` ignored. */
  readonly index: string;
  /** Git's letter for the file, compared with the index. */
  readonly file: string;
  /** Git's names of the content in the last commit and in the index. */
  readonly committed: string;
  readonly blob: string;
  /** The mode in the index, in octal digits. */
  readonly mode: string;
}

interface StatusQuery {
  /** Limits the answer; empty means everything. */
  readonly paths: readonly string[];
  /** The files to list besides tracked ones: none, untracked files, or ignored ones too. */
  readonly others: 'no' | 'untracked' | 'ignored';
  /** True if the paths are names of files, not patterns. */
  readonly isLiteral?: boolean;
  readonly signal: AbortSignal;
}

/**
 * The files below a folder, or those that paths match, that differ from the last commit. Leaves out
 * submodules. Undefined if git fails.
 */
async function statusIn(
  folder: string,
  { paths, others, isLiteral, signal }: StatusQuery,
): Promise<readonly GitStatus[] | undefined> {
  const args = ['status', '--porcelain=v2', '-z', '--no-renames', '--ignore-submodules'];
  args.push(`--untracked-files=${others === 'no' ? 'no' : 'all'}`);
  if (others === 'ignored') args.push('--ignored=traditional');
  const literal = isLiteral === true ? ['--literal-pathspecs'] : [];
  const result = await git(folder, [...literal, ...args, '--', ...paths], { signal });
  if (!result.ok) return undefined;
  return statusPrinted(result);
}

/** The entries that `git status --porcelain=v2 -z --no-renames` prints. */
export function statusPrinted(result: Parameters<typeof namesPrinted>[0]): readonly GitStatus[] {
  return namesPrinted(result).flatMap((entry): GitStatus[] => {
    const [kind = '', letters = '', ...fields] = entry.split(' ');
    const unknown = { committed: '', blob: '', mode: '' };
    if (kind === '?' || kind === '!') return [{ path: entry.slice(2), index: kind, file: '.', ...unknown }];
    const [index = '.', file = '.'] = letters;
    const [, , mode = '', , committed = '', blob = '', ...names] = fields;
    if (kind === '1') return [{ path: names.join(' '), index, file, committed, blob, mode }];
    return kind === 'u' ? [{ path: fields.slice(8).join(' '), index: '.', file: 'U', ...unknown }] : [];
  });
}

/** Like `statusIn`; empty if git fails. */
export async function statusOf(folder: string, query: StatusQuery): Promise<readonly GitStatus[]> {
  return (await statusIn(folder, query)) ?? [];
}

/**
 * The place where git has a file's present bytes: the last commit, the index, or nowhere. `ignored`:
 * nowhere, because git ignores the file. `no-repository`: the file is in no repository.
 */
type HeldByGit = 'commit' | 'index' | 'ignored' | 'nowhere' | 'no-repository';

/** Git is asked for at most this many files by name. The length of a command line is limited. */
const MAX_ASKED = 500;

/** Says for each of these absolute paths of existing files where git has their bytes. Changes nothing. */
export async function heldByGit(
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, HeldByGit>> {
  const held = new Map<string, HeldByGit>();
  const tops = new Map<string | undefined, string[]>();
  const folders = new Map(
    [...new Set(paths.map((path) => dirname(path)))].map((each) => [each, repositoryAround(each)]),
  );
  for (const path of paths) {
    const top = folders.get(dirname(path));
    const own = tops.get(top);
    if (own === undefined) tops.set(top, [path]);
    else own.push(path);
  }
  for (const [top, own] of tops) {
    const states = top === undefined ? undefined : await statesOf(top, own, signal);
    const otherwise = top === undefined ? 'no-repository' : 'nowhere';
    for (const path of own) held.set(path, states?.(path) ?? otherwise);
  }
  return held;
}

async function statesOf(
  top: string,
  own: readonly string[],
  signal: AbortSignal,
): Promise<((path: string) => HeldByGit) | undefined> {
  const paths = own.length > MAX_ASKED ? [] : own.map((path) => relative(top, path));
  const listed = await statusIn(top, { paths, others: 'ignored', isLiteral: true, signal });
  if (listed === undefined) return undefined;
  const files = new Map(listed.map((each) => [each.path, each]));
  const folders = listed.filter(({ path }) => path.endsWith('/'));
  return (absolute) => {
    const name = relative(top, absolute);
    const found = files.get(name) ?? folders.find(({ path }) => name.startsWith(path));
    return found === undefined ? 'commit' : stateOf(absolute, found);
  };
}

function stateOf(path: string, { index, file, committed }: GitStatus): HeldByGit {
  if (index === '!') return 'ignored';
  if (index === '?' || file === 'U') return 'nowhere';
  if (file === '.') return 'index';
  return index !== '.' && hasContent(path, committed) ? 'commit' : 'nowhere';
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
  return result.ok ? new Set(namesPrinted(result)) : undefined;
}

/** The top of the repository around a folder; the folder itself if there is none. */
export function repositoryTop(folder: string): string {
  return repositoryAround(folder) ?? folder;
}
