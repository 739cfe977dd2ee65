import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  unlinkSync,
  utimesSync,
} from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { TreeSnapshot } from '../model/entry.ts';
import { isMissing, unlessErrno } from '../model/fault.ts';
import type { BlobFacts } from './git-blobs.ts';
import { readIndex, type Tracked, trackedAs } from './git-index.ts';
import { type GitOptions, git, runGit, type Unavailable } from './run-git.ts';

/**
 * A path that may have changed since a snapshot, as the index describes it. The fields of a path
 * that was untracked or missing are absent.
 */
export interface Candidate extends Partial<Tracked> {
  readonly path: string;
}

interface SnapshotOptions {
  /** The folder for the copied index. */
  readonly folder: string;
  readonly name: string;
  readonly signal: AbortSignal;
  readonly blobs: BlobFacts;
  /** Called with the path of the copied index, before git compares files with it. */
  readonly copied?: (index: string) => Promise<void>;
}

/**
 * Takes a snapshot of the files below a folder, or returns the reason why git cannot. The snapshot
 * is a private copy of the index, or an empty index if the folder has none. Writes nothing into the
 * user's `.git`, and runs no filter or hook of the user.
 */
export async function takeSnapshot(
  root: string,
  { folder, name, signal, blobs, copied }: SnapshotOptions,
): Promise<TreeSnapshot | Unavailable> {
  const atMs = Date.now();
  const index = join(folder, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const tree = await beginIndex(root, index, { folder, signal });
  if ('unavailable' in tree) return tree;
  if (tree.index === 'copied') await copied?.(index);
  const place = { root, index, ...(tree.repository === undefined ? {} : { repository: tree.repository }) };
  const found = await comparedFiles(place, blobs, signal);
  if ('unavailable' in found) dropSnapshot({ index });
  return 'unavailable' in found ? found : { ...place, atMs, ...found };
}

type ComparedFiles = Pick<TreeSnapshot, 'loose' | 'converted' | 'uncovered'>;

/** Compares the files with the index: those whose bytes git lacks, and those that it has converted. */
async function comparedFiles(
  place: SnapshotPlace,
  blobs: BlobFacts,
  signal: AbortSignal,
): Promise<ComparedFiles | Unavailable> {
  const found = await looseFiles(place, signal);
  if ('unavailable' in found) return found;
  const converted = await blobs.converted(place, found.loose, signal);
  return 'unavailable' in converted ? converted : { ...found, converted };
}

interface BegunIndex {
  readonly index: 'copied' | 'empty';
  /** An empty repository in the state folder, used if the folder is in no repository. */
  readonly repository?: string;
}

/**
 * Copies the index of the repository around a folder. Without a repository or an index, makes an
 * empty index.
 */
async function beginIndex(
  root: string,
  index: string,
  { folder, signal }: Pick<SnapshotOptions, 'folder' | 'signal'>,
): Promise<BegunIndex | Unavailable> {
  const place = await git(root, ['rev-parse', '--git-path', 'index'], { signal });
  if (!place.ok && !/^fatal: not a git repository/.test(place.reason)) return { unavailable: place.reason };
  const given = place.ok ? place.stdout.toString('utf8').trimEnd() : undefined;
  try {
    if (given !== undefined) {
      copyIndex(isAbsolute(given) ? given : join(root, given), index);
      return (await asPlainIndex(root, index, signal)) ?? { index: 'copied' };
    }
  } catch (error) {
    // Ignore a missing index: a repository without a first commit or add has none yet.
    if (!isMissing(error)) return { unavailable: String(error) };
  }
  return emptyIndex(root, index, {
    signal,
    ...(given === undefined ? { repository: join(folder, NO_REPOSITORY) } : {}),
  });
}

/**
 * Copies an index with its time. Git compares a file's content if the file is not older than the
 * index. With a later time, a file that was changed right after it was staged would look unchanged.
 */
function copyIndex(from: string, to: string): void {
  const { atime, mtimeMs } = statSync(from);
  copyFileSync(from, to);
  utimesSync(to, atime, new Date(Math.floor(mtimeMs)));
}

/**
 * Converts a copied index to the plain form, if git has compressed it or has put a part of it into
 * another file: only the plain form can be read here.
 */
async function asPlainIndex(
  root: string,
  index: string,
  signal: AbortSignal,
): Promise<Unavailable | undefined> {
  if (readIndex(index) !== undefined) return undefined;
  const result = await git(root, ['update-index', '--index-version=2', '--no-split-index'], {
    signal,
    index,
  });
  return result.ok ? undefined : { unavailable: result.reason };
}

/**
 * Creates an empty index file at `index` with git. Git uses the repository around the folder, or
 * `repository`, which is created if missing.
 */
async function emptyIndex(
  root: string,
  index: string,
  options: Pick<GitOptions, 'signal' | 'repository'>,
): Promise<BegunIndex | Unavailable> {
  const { signal, repository } = options;
  if (repository !== undefined && !existsSync(join(repository, 'HEAD'))) {
    const args = ['init', '--quiet', '--bare', '--template=', repository];
    const made = await runGit(dirname(repository), args, { signal });
    if (!made.ok) return { unavailable: made.reason };
  }
  const emptied = await git(root, ['read-tree', '--empty'], { ...options, index });
  if (!emptied.ok) return { unavailable: emptied.reason };
  return repository === undefined ? { index: 'empty' } : { index: 'empty', repository };
}

/** The name of the empty repository for folders outside every repository. */
const NO_REPOSITORY = 'none.git';

/**
 * Folders of installed packages and caches. A snapshot of a folder outside every repository leaves
 * them out, because no ignore rules exclude them there.
 */
const NEVER_LOOSE = ['node_modules/', '.venv/', '__pycache__/'];

type SnapshotPlace = Pick<TreeSnapshot, 'root' | 'index' | 'repository'>;

/** Lists paths that may have changed since the snapshot. The caller compares bytes: a candidate may be unchanged. */
export async function candidatesSince(
  snapshot: TreeSnapshot,
  signal: AbortSignal,
): Promise<readonly Candidate[] | Unavailable> {
  const { root, index, loose, atMs } = snapshot;
  // Report a missing index: git would treat it as empty, and every file would look new.
  if (!existsSync(index)) return { unavailable: 'the snapshot is gone' };
  // A worktree that was removed has lost all its files.
  if (!existsSync(root))
    return [...(readIndex(index) ?? [])].map(([path, tracked]) => ({ path, ...tracked }));
  const changed = await changedTracked(snapshot, signal);
  if ('unavailable' in changed) return changed;
  const unwatched = await unwatchedFiles(snapshot, signal);
  if ('unavailable' in unwatched) return unwatched;
  const known = new Set(loose);
  const tracked = changed.files.filter(({ path }) => !known.has(path));
  const found = unwatched.files.filter((path) => !known.has(path));
  const hasNewRules = [...tracked, ...found.map((path) => ({ path }))].some(({ path }) =>
    IGNORE_RULES.test(path),
  );
  // After a change of ignore rules, files that were ignored before look new. Count only those that
  // were created since the snapshot.
  const created = found.filter((path) => !hasNewRules || bornAfter(join(root, path), atMs));
  return [...tracked, ...[...loose, ...created].map((path) => ({ path }))];
}

const IGNORE_RULES = /(^|\/)\.gitignore$/;

function bornAfter(path: string, ms: number): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && stats.birthtimeMs >= ms;
}

export function dropSnapshot({ index }: Pick<TreeSnapshot, 'index'>): void {
  try {
    unlinkSync(index);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/**
 * A snapshot older than this counts as expired. The changes of a command are recorded within
 * minutes, so no command still needs it.
 */
const MAX_SNAPSHOT_AGE_MS = 24 * 3_600_000;

/**
 * The paths of snapshots that are older than `MAX_SNAPSHOT_AGE_MS`. The process that took them was
 * killed before it could remove them.
 */
export function expiredSnapshots(home: string, nowMs: number): readonly string[] {
  const folder = join(home, 'snapshots');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => SNAPSHOT.test(name))
    .map((name) => join(folder, name))
    .filter((path) => {
      const stats = lstatSync(path, { throwIfNoEntry: false });
      return stats?.isFile() === true && stats.ctimeMs < nowMs - MAX_SNAPSHOT_AGE_MS;
    });
}

/** Matches the file name of a snapshot: the id of a change and the number of the root. */
const SNAPSHOT = /^c[0-9a-f]+-\d+$/;

async function looseFiles(
  place: SnapshotPlace,
  signal: AbortSignal,
): Promise<Pick<TreeSnapshot, 'loose' | 'uncovered'> | Unavailable> {
  const changed = await changedTracked(place, signal);
  if ('unavailable' in changed) return changed;
  const unwatched = await unwatchedFiles(place, signal);
  if ('unavailable' in unwatched) return unwatched;
  return {
    loose: [...changed.files.map(({ path }) => path), ...unwatched.files],
    uncovered: [...changed.submodules, ...unwatched.repositories],
  };
}

const SUBMODULE = '160000';

/** Tracked files whose stat fields differ from the index. */
async function changedTracked(
  { root, ...place }: SnapshotPlace,
  signal: AbortSignal,
): Promise<{ readonly files: readonly Candidate[]; readonly submodules: readonly string[] } | Unavailable> {
  const args = ['diff-files', '--raw', '-z', '--no-renames', '--no-abbrev', '--relative'];
  const result = await git(root, args, { signal, ...place });
  if (!result.ok) return { unavailable: result.reason };
  const files: Candidate[] = [];
  const submodules: string[] = [];
  const fields = result.stdout.toString('utf8').split('\0');
  for (let at = 0; at + 1 < fields.length; at += 2) {
    // Git prints `:100644 100644 BLOB 0000… M` for each file, then the path.
    const [modeBefore = '', , blob = ''] = (fields[at] ?? '').slice(1).split(' ');
    const path = fields[at + 1] ?? '';
    if (modeBefore === SUBMODULE) submodules.push(path);
    else if (isNameable(root, path)) files.push({ path, ...trackedAs(blob, Number.parseInt(modeBefore, 8)) });
  }
  return { files, submodules };
}

/**
 * False for a name that is not valid UTF-8. Node decodes such a name to another one. No file has
 * that other name, so the file would look removed.
 */
function isNameable(root: string, path: string): boolean {
  return !path.includes('\ufffd') || existsSync(join(root, path));
}

/**
 * Files whose changes `changedTracked` does not list: untracked ones, and tracked ones that the
 * user has marked as `assume-unchanged` or `skip-worktree`. Also untracked repositories.
 */
async function unwatchedFiles(
  { root, ...place }: SnapshotPlace,
  signal: AbortSignal,
): Promise<{ readonly files: readonly string[]; readonly repositories: readonly string[] } | Unavailable> {
  const excluded = place.repository === undefined ? [] : NEVER_LOOSE.map((name) => `--exclude=${name}`);
  const args = ['ls-files', '-v', '--cached', '--others', '--exclude-standard', ...excluded, '-z'];
  const result = await git(root, args, { signal, ...place });
  if (!result.ok) return { unavailable: result.reason };
  const files: string[] = [];
  const repositories: string[] = [];
  // Git prints a letter, a space and the path.
  for (const line of result.stdout.toString('utf8').split('\0')) {
    const path = line.slice(2);
    if (line.startsWith(UNTRACKED)) (path.endsWith('/') ? repositories : files).push(path);
    // Skip marked files that are missing, as most are in a sparse checkout. Also skip submodules.
    else if (MARKED.test(line) && isFile(join(root, path))) files.push(path);
  }
  return { files, repositories };
}

const UNTRACKED = '? ';
/** Matches a file marked as `assume-unchanged` (a lower-case letter) or `skip-worktree` (`S`). */
const MARKED = /^[a-zS] /;

/** True for a file or a link; false if the path leads to a folder or to nothing. */
function isFile(path: string): boolean {
  return unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }))?.isDirectory() === false;
}
