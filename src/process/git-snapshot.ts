import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { TreeSnapshot } from '../model/entry.ts';
import { isMissing, unlessErrno } from '../model/fault.ts';
import { type GitOptions, git, repositoryAround, type Unavailable, worktreeGitFolder } from './git.ts';
import type { GitFacts } from './git-blobs.ts';
import { renewedPaths, type Tracked, trackedAs } from './git-index.ts';
import { type GitStatus, statusPrinted } from './git-status.ts';
import { entryAt, pathsBelow } from './own-files.ts';

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
  readonly facts: GitFacts;
}

/**
 * Takes a snapshot of the files below a folder, or returns the reason why git cannot. The snapshot
 * is a private copy of the index, or an empty index if the folder has none. Writes nothing into the
 * user's `.git`, and runs no filter or hook of the user.
 */
export async function takeSnapshot(
  root: string,
  { folder, name, signal, facts }: SnapshotOptions,
): Promise<TakenSnapshot | Unavailable> {
  const atMs = Date.now();
  const index = join(folder, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const begun = await beginIndex(root, index, { folder, signal });
  if ('unavailable' in begun) return begun;
  const place = { root, index, ...begun };
  const tracked = facts.tracked(place) ?? (await asPlainIndex(place, { facts, signal }));
  if ('unavailable' in tracked) return tracked;
  const found = await changedSince(place, tracked, { facts, signal });
  const loose = 'unavailable' in found ? [] : [...found.files.map(({ path }) => path), ...found.others];
  const converted = 'unavailable' in found ? found : await facts.converted(root, tracked, { loose, signal });
  if ('unavailable' in found || 'unavailable' in converted) {
    dropSnapshot({ index });
    return 'unavailable' in found ? found : (converted as Unavailable);
  }
  const { repositories: uncovered, ignored } = found;
  return { tree: { ...place, atMs, loose, uncovered, converted }, ignored };
}

/**
 * A snapshot, and what git ignored then. If git ignores everything in a folder, the folder is
 * listed with a slash at the end.
 */
export interface TakenSnapshot {
  readonly tree: TreeSnapshot;
  readonly ignored: readonly string[];
}

/** `repository`: an empty repository in the state folder, used if the folder is in no repository. */
type BegunIndex = Pick<TreeSnapshot, 'repository'>;

/**
 * Copies the index of the repository around a folder. Without a repository or an index, makes an
 * empty index.
 */
async function beginIndex(
  root: string,
  index: string,
  { folder, signal }: Pick<SnapshotOptions, 'folder' | 'signal'>,
): Promise<BegunIndex | Unavailable> {
  const top = repositoryAround(root);
  const own = top === undefined ? undefined : worktreeGitFolder(top);
  if (own === undefined || !existsSync(join(own, 'HEAD')))
    return emptyIndex(root, index, { signal, repository: join(folder, NO_REPOSITORY) });
  try {
    copyIndex(join(own, 'index'), index);
    return {};
  } catch (error) {
    // Ignore a missing index: a repository without a first commit or add has none yet.
    return isMissing(error) ? emptyIndex(root, index, { signal }) : { unavailable: String(error) };
  }
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
  place: SnapshotPlace,
  { facts, signal }: Pick<SnapshotOptions, 'facts' | 'signal'>,
): Promise<ReadonlyMap<string, Tracked> | Unavailable> {
  const { root, index } = place;
  const args = ['update-index', '--index-version=2', '--no-split-index'];
  const result = await git(root, args, { signal, index });
  return result.ok ? (facts.tracked(place) ?? new Map()) : { unavailable: result.reason };
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
    const made = await git(dirname(repository), args, { signal });
    if (!made.ok) return { unavailable: made.reason };
  }
  if (repository !== undefined && !existsSync(join(repository, EXCLUDE))) {
    mkdirSync(dirname(join(repository, EXCLUDE)), { recursive: true });
    writeFileSync(join(repository, EXCLUDE), NEVER_LOOSE);
  }
  const emptied = await git(root, ['read-tree', '--empty'], { ...options, index });
  if (!emptied.ok) return { unavailable: emptied.reason };
  return repository === undefined ? {} : { repository };
}

/** The name of the empty repository for folders outside every repository. */
const NO_REPOSITORY = 'none.git';

/**
 * Folders of installed packages and caches. A snapshot of a folder outside every repository leaves
 * them out, because no ignore rules exclude them there.
 */
const NEVER_LOOSE = 'node_modules/\n.venv/\n__pycache__/\n';
/** The file of a repository with names that git ignores. */
const EXCLUDE = 'info/exclude';

type SnapshotPlace = Pick<TreeSnapshot, 'root' | 'index' | 'repository'>;

/** Lists paths that may have changed since the snapshot. The caller compares bytes: a candidate may be unchanged. */
export async function candidatesSince(
  snapshot: TreeSnapshot,
  asking: Pick<SnapshotOptions, 'facts' | 'signal'>,
): Promise<readonly Candidate[] | Unavailable> {
  const { root, index, loose, atMs } = snapshot;
  // Report a missing index: git would treat it as empty, and every file would look new.
  if (!existsSync(index)) return { unavailable: 'the snapshot is gone' };
  const entries = asking.facts.tracked(snapshot) ?? new Map<string, Tracked>();
  // A worktree that was removed has lost all its files.
  if (!existsSync(root)) return [...entries].map(([path, tracked]) => ({ path, ...tracked }));
  const changed = await changedSince(snapshot, entries, asking);
  if ('unavailable' in changed) return changed;
  const known = new Set(loose);
  const tracked = changed.files.filter(({ path }) => !known.has(path));
  const found = changed.others.filter((path) => !known.has(path));
  const hasNewRules = [...tracked.map(({ path }) => path), ...found].some((path) => IGNORE_RULES.test(path));
  // After a change of ignore rules, files that were ignored before look new. Count only those that
  // were created since the snapshot.
  const created = found.filter((path) => !hasNewRules || bornAfter(join(root, path), atMs));
  const made = changed.repositories.filter((path) => !snapshot.uncovered.includes(path));
  const inside = made.flatMap((path) => bornIn(root, path, atMs));
  return [...tracked, ...[...loose, ...created, ...inside].map((path) => ({ path }))];
}

/** The files of a repository that were made after a moment; the repository itself, if all were. */
function bornIn(root: string, repository: string, ms: number): readonly string[] {
  const top = join(root, repository);
  const inside = pathsBelow(top, () => false);
  const born = inside.filter((path) => bornAfter(path, ms)).map((path) => relative(root, path));
  return born.length === inside.length ? [relative(root, top), ...born] : born;
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
const SNAPSHOT = /^c[0-9a-f]+-\d+(?:\.renewed(?:\.lock)?)?$/;

const SUBMODULE = '160000';
/** Stands for the blob of a path with a conflict. No object has this name. */
const NO_BLOB = '0'.repeat(40);

interface ChangedFiles {
  /** Tracked files whose content, mode or stat fields differ from the index. */
  readonly files: readonly Candidate[];
  /**
   * Untracked files, and tracked ones that the user has marked as `assume-unchanged` or
   * `skip-worktree`, which git does not compare.
   */
  readonly others: readonly string[];
  /** Submodules and untracked repositories. */
  readonly repositories: readonly string[];
  readonly ignored: readonly string[];
}

async function changedSince(
  { root, index, repository }: SnapshotPlace,
  tracked: ReadonlyMap<string, Tracked>,
  { facts, signal }: Pick<SnapshotOptions, 'facts' | 'signal'>,
): Promise<ChangedFiles | Unavailable> {
  const filters = await facts.withoutFilters(root, signal);
  const asked = await statusAt(root, { index, repository, filters, signal });
  if ('unavailable' in asked) return asked;
  const { entries, renewed } = asked;
  const top = repository === undefined ? (repositoryAround(root) ?? root) : root;
  // Git prints paths from the top of the repository.
  const start = top === root ? '' : `${relative(top, root)}/`;
  const listed = entries.map((entry) => ({ ...entry, path: entry.path.slice(start.length) }));
  const isListed = ({ index: letter }: GitStatus): boolean => letter === '?' || letter === '!';
  const differing = listed.filter((entry) => !isListed(entry) && entry.file !== '.');
  const [submodules, files] = [differing.filter(isSubmodule), differing.filter((each) => !isSubmodule(each))];
  const pathsOf = (letter: string): readonly string[] =>
    listed.flatMap((entry) => (entry.index === letter ? entry.path : []));
  const untracked = pathsOf('?');
  const known = new Set(differing.map(({ path }) => path));
  const compared = renewed.flatMap((name): Candidate[] => {
    const path = name.startsWith(start) ? name.slice(start.length) : '';
    const entry = known.has(path) ? undefined : tracked.get(path);
    return entry === undefined ? [] : [{ ...entry, path }];
  });
  // Skip marked files that are missing, as most are in a sparse checkout.
  const marked = facts.marked(tracked).filter((path) => entryAt(join(root, path))?.kind === 'file');
  return {
    files: [...files.flatMap((entry) => candidateOf(root, entry)), ...compared],
    others: [...untracked.filter((path) => !path.endsWith('/')), ...marked],
    repositories: [...submodules.map(({ path }) => path), ...untracked.filter((path) => path.endsWith('/'))],
    ignored: pathsOf('!'),
  };
}

interface StatusOptions extends Pick<GitOptions, 'filters' | 'repository'> {
  readonly index: string;
  readonly signal: AbortSignal;
}

/**
 * The status of the files below a folder, compared with an index. `renewed`: the paths of which git
 * has compared the content, because their stat fields differ. The index itself stays as it is.
 */
async function statusAt(
  root: string,
  { index, ...options }: StatusOptions,
): Promise<{ readonly entries: readonly GitStatus[]; readonly renewed: readonly string[] } | Unavailable> {
  const copy = `${index}${RENEWED}`;
  const args = ['--untracked-files=all', '--ignored=matching', '--ignore-submodules=none', '--no-renames'];
  try {
    // Some file systems have no hard links.
    if (unlessErrno(() => linkSync(index, copy) ?? 'linked') === undefined) copyIndex(index, copy);
    const asked = await git(root, ['status', '--porcelain=v2', '-z', ...args, '--', '.'], {
      ...options,
      index: copy,
    });
    if (!asked.ok) return { unavailable: asked.reason };
    // Git puts another file in the place of an index that it renews.
    const isRenewed = statSync(copy).ino !== statSync(index).ino;
    const renewed = isRenewed ? renewedPaths(readFileSync(index), readFileSync(copy)) : [];
    return { entries: statusPrinted(asked), renewed };
  } finally {
    dropSnapshot({ index: copy });
  }
}

/** The end of the name of an index that git may renew. */
const RENEWED = '.renewed';

function isSubmodule({ mode }: GitStatus): boolean {
  return mode === SUBMODULE;
}

/** A path that differs from the index, as the index describes it. Empty for a name that Node cannot express. */
function candidateOf(root: string, { path, blob, mode, file }: GitStatus): readonly Candidate[] {
  if (!isNameable(root, path)) return [];
  const isKnown = file !== 'U';
  return [{ path, ...trackedAs(isKnown ? blob : NO_BLOB, isKnown ? Number.parseInt(mode, 8) : 0) }];
}

/**
 * False for a name that is not valid UTF-8. Node decodes such a name to another one. No file has
 * that other name, so the file would look removed.
 */
function isNameable(root: string, path: string): boolean {
  return !path.includes('\ufffd') || existsSync(join(root, path));
}
