import { git, namesPrinted, repositoryAround } from './git.ts';

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
  readonly signal: AbortSignal;
}

/**
 * The files below a folder, or those that paths match, that differ from the last commit. Leaves out
 * submodules. Empty if git fails.
 */
export async function statusOf(
  folder: string,
  { paths, others, signal }: StatusQuery,
): Promise<readonly GitStatus[]> {
  const args = ['status', '--porcelain=v2', '-z', '--no-renames', '--ignore-submodules'];
  args.push(`--untracked-files=${others === 'no' ? 'no' : 'all'}`);
  if (others === 'ignored') args.push('--ignored=traditional');
  const result = await git(folder, [...args, '--', ...paths], { signal });
  return result.ok ? statusPrinted(result) : [];
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
