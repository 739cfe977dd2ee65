import { dirname, join, relative } from 'node:path';
import { repositoryAround } from './git.ts';
import { hasContent } from './git-risks.ts';
import { git } from './run-git.ts';

/**
 * Where git has the present bytes of a file: in the last commit, in the index, or nowhere. `ignored`:
 * nowhere, because git ignores the file. `no-repository`: the file is in no repository.
 */
type HeldByGit = 'commit' | 'index' | 'ignored' | 'nowhere' | 'no-repository';

/** Git is asked about so many files at once, because the length of its command line is limited. */
const MAX_BATCH = 500;

/** Says for each of these absolute paths of existing files where git has their bytes. Changes nothing. */
export async function heldByGit(
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, HeldByGit>> {
  const held = new Map<string, HeldByGit>();
  const tops = new Map<string | undefined, string[]>();
  for (const path of paths) {
    const top = repositoryAround(dirname(path));
    tops.set(top, [...(tops.get(top) ?? []), path]);
  }
  for (const [top, own] of tops)
    for (let at = 0; at < own.length; at += MAX_BATCH) {
      const batch = own.slice(at, at + MAX_BATCH);
      const states = top === undefined ? undefined : await statesOf(top, batch, signal);
      for (const path of batch) held.set(path, stateOf(path, top, states));
    }
  return held;
}

const STATUS = [
  'status',
  '--porcelain=v2',
  '-z',
  '--no-renames',
  '--untracked-files=all',
  '--ignored=matching',
];

/**
 * The files that differ from the last commit, by path. A folder has a slash at its end. Undefined
 * if git fails.
 */
async function statesOf(
  top: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, HeldByGit> | undefined> {
  const named = paths.map((path) => relative(top, path));
  const result = await git(top, ['--literal-pathspecs', ...STATUS, '--', ...named], { signal });
  if (!result.ok) return undefined;
  const states = new Map<string, HeldByGit>();
  for (const entry of result.stdout.toString('utf8').split('\0')) {
    const [kind] = entry.split(' ', 1);
    if (kind === '!' || kind === '?') states.set(entry.slice(2), kind === '!' ? 'ignored' : 'nowhere');
    if (kind === '1') states.set(entry.split(' ').slice(8).join(' '), stateOfTracked(top, entry));
    if (kind === 'u') states.set(entry.split(' ').slice(10).join(' '), 'nowhere');
  }
  return states;
}

/** The state of a tracked file that differs from the last commit, or whose index does. */
function stateOfTracked(top: string, entry: string): HeldByGit {
  const [, changes = '', , , , , committed = '', , ...names] = entry.split(' ');
  // The second letter says whether the file differs from the index.
  if (changes[1] === '.') return 'index';
  return changes[0] !== '.' && hasContent(join(top, names.join(' ')), committed) ? 'commit' : 'nowhere';
}

function stateOf(
  path: string,
  top: string | undefined,
  states: ReadonlyMap<string, HeldByGit> | undefined,
): HeldByGit {
  if (top === undefined) return 'no-repository';
  if (states === undefined) return 'nowhere';
  const name = relative(top, path);
  const own = states.get(name);
  if (own !== undefined) return own;
  for (const [folder, state] of states) if (folder.endsWith('/') && name.startsWith(folder)) return state;
  return 'commit';
}
