import { lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unlessErrno } from '../model/fault.ts';
import { defined } from '../model/record.ts';
import { git, gitFolderOf, repositoryAround, worktreeGitFolder } from './git.ts';
import type { GitFacts, TrackedFiles } from './git-blobs.ts';
import { isAsStaged } from './git-index.ts';
import { blobOf, blobsIn, checkedOut, listedObjects, stashesIn } from './git-refs.ts';
import { statusOf } from './git-status.ts';

/** The place where git has a content: a commit, checked out or not, or only a stash. */
type Holder = 'commit' | 'stash';

interface CopiesOptions {
  readonly signal: AbortSignal;
  /** Folders in the repositories to search. */
  readonly folders: readonly string[];
  /** `checkouts`: only the commits that are checked out. `all`: everything that references lead to. */
  readonly search: 'checkouts' | 'all';
  /** Names of contents that also count as checked out. */
  readonly more?: ReadonlySet<string>;
}

/** Answers whether git has a copy of some content. A file with a copy can be removed without loss. */
export class GitCopies {
  readonly #facts: GitFacts;
  readonly #options: CopiesOptions;
  /** A folder of each repository, by git folder: worktrees of one repository share it. */
  readonly #tops = new Map<string, string>();
  /** The files of each repository that differ from its index, as far as git was asked. */
  readonly #changed = new Map<string, ReadonlySet<string>>();

  constructor(facts: GitFacts, options: CopiesOptions) {
    this.#facts = facts;
    this.#options = options;
    for (const folder of options.folders) this.#search(folder);
  }

  #search(folder: string): void {
    const [own, top] = [gitFolderOf(folder), repositoryAround(folder)];
    if (own !== undefined && top !== undefined && !this.#tops.has(own)) this.#tops.set(own, top);
  }

  /** True if a commit that is checked out has these bytes. */
  async isCheckedOut(bytes: Uint8Array): Promise<boolean> {
    const names = gitNames(bytes);
    return (await this.#checkedOut(names)).size > 0;
  }

  async #checkedOut(names: readonly string[]): Promise<Set<string>> {
    const { signal, more } = this.#options;
    const found = new Set(names.filter((name) => more?.has(name)));
    for (const top of this.#tops.values()) {
      const contents = await this.#facts.contentsOf(top, checkedOut(top), signal);
      for (const name of names) if (contents.has(name)) found.add(name);
    }
    return found;
  }

  /** Finds which of these contents git has. The value `stash`: only a stash does. */
  async holders(names: readonly string[]): Promise<ReadonlyMap<string, Holder>> {
    if (names.length === 0) return new Map();
    const found = new Map<string, Holder>();
    for (const name of await this.#checkedOut(names)) found.set(name, 'commit');
    const { search, signal } = this.#options;
    if (search === 'checkouts') return found;
    for (const top of this.#tops.values()) {
      const asked = names.filter((name) => found.get(name) !== 'commit');
      for (const [name, by] of await heldContents(top, asked, signal)) found.set(name, by);
    }
    return found;
  }

  /**
   * The files among these absolute paths whose content git has: it is staged, or `holders` finds it.
   * `unstages`: the file is about to be removed from the index, too.
   */
  async heldAmong(
    files: readonly { readonly path: string; readonly unstages?: boolean | undefined }[],
  ): Promise<ReadonlySet<string>> {
    const indexes = new Map<string, KnownIndex | undefined>();
    for (const folder of new Set(files.map(({ path }) => dirname(path)))) {
      const index = await this.#indexAround(folder);
      const changed = index && files.length > MANY_FILES ? await this.#changedIn(index.top) : undefined;
      indexes.set(folder, index && { ...index, ...defined({ changed }) });
      this.#search(folder);
    }
    const held = new Set<string>();
    const left = new Map<string, readonly string[]>();
    for (const { path, unstages } of files) {
      const { names, isStaged } = namesAt(path, indexes.get(dirname(path)));
      if (isStaged && unstages !== true) held.add(path);
      else left.set(path, names);
    }
    const holders = await this.holders([...left.values()].flat());
    for (const [path, names] of left) if (names.some((name) => holders.has(name))) held.add(path);
    return held;
  }

  async #indexAround(folder: string): Promise<KnownIndex | undefined> {
    const top = repositoryAround(folder);
    if (top === undefined) return undefined;
    const index = join(worktreeGitFolder(top), 'index');
    const stats = unlessErrno(() => statSync(index));
    if (stats === undefined) return undefined;
    const tracked = await this.#facts.staged(top, index, this.#options.signal);
    return { top, tracked, writtenMs: stats.mtimeMs };
  }

  /** The tracked files that differ from the index. Asks git once, which is cheaper than many stat calls. */
  async #changedIn(top: string): Promise<ReadonlySet<string>> {
    const known = this.#changed.get(top);
    if (known !== undefined) return known;
    const entries = await statusOf(top, { paths: [], others: 'no', signal: this.#options.signal });
    const changed = new Set(entries.flatMap(({ path, file }) => (file === '.' ? [] : path)));
    this.#changed.set(top, changed);
    return changed;
  }
}

/** The index of a repository, and when it was written. */
interface KnownIndex {
  readonly top: string;
  readonly tracked: TrackedFiles;
  readonly writtenMs: number;
  /** The files that differ from the index, if git was asked. */
  readonly changed?: ReadonlySet<string>;
}

/** With more files than this, git compares them with its index. */
const MANY_FILES = 50;

/** Larger files are not compared with what git has, unless their stat fields are those in the index. */
const MAX_BYTES = 64 << 20;

/** The names that git may give to what is at a path. `isStaged`: the index has it. */
function namesAt(
  path: string,
  index: KnownIndex | undefined,
): { readonly names: readonly string[]; readonly isStaged: boolean } {
  const name = path.slice((index?.top.length ?? 0) + 1);
  const entry = index?.tracked.get(name);
  // Git does not compare marked files.
  if (entry !== undefined && entry.marked === undefined && index?.changed?.has(name) === false)
    return { names: [entry.blob], isStaged: true };
  const stats = unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }));
  if (stats === undefined) return { names: [], isStaged: false };
  // A file as young as the index may have changed without another time.
  const isSettled = index !== undefined && stats.mtimeMs < index.writtenMs;
  if (entry !== undefined && isSettled && isAsStaged(entry, stats))
    return { names: [entry.blob], isStaged: true };
  const bytes = unlessErrno(() => {
    if (stats.isSymbolicLink()) return Buffer.from(readlinkSync(path));
    return stats.isFile() && stats.size <= MAX_BYTES ? readFileSync(path) : undefined;
  });
  const names = bytes === undefined ? [] : gitNames(bytes);
  return { names, isStaged: entry !== undefined && names.includes(entry.blob) };
}

/** An object id of each kind of repository: SHA-1 and SHA-256. */
const KINDS = ['0'.repeat(40), '0'.repeat(64)];

/** The blob ids that git may give to these bytes. */
export function gitNames(bytes: Uint8Array): readonly string[] {
  return storedForms(bytes).flatMap((form) => KINDS.map((like) => blobOf(form, like)));
}

/** The forms in which git may store a file: with its own line endings, or with LF. */
function storedForms(bytes: Uint8Array): readonly Uint8Array[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.includes('\r\n')) return [bytes];
  return [bytes, Buffer.from(buffer.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')];
}

/** Time limit for a search through all commits of a repository. */
const HISTORY_MS = 1_500;

/**
 * Finds which of these blobs references or stashes contain. The value `stash`: only a stash does.
 * Searches the commits only if the repository has one of the blobs at all.
 */
async function heldContents(
  folder: string,
  blobs: readonly string[],
  given: AbortSignal,
): Promise<ReadonlyMap<string, Holder>> {
  const held = new Map<string, Holder>();
  if (blobs.length === 0) return held;
  const asked = await git(folder, ['cat-file', '--batch-check'], {
    signal: given,
    input: `${blobs.join('\n')}\n`,
  });
  const there = asked.stdout
    .toString('latin1')
    .split('\n')
    .flatMap((line) => /^(\S+) blob /.exec(line)?.[1] ?? []);
  if (there.length === 0) return held;
  const signal = AbortSignal.any([given, AbortSignal.timeout(HISTORY_MS)]);
  const others = await listedObjects(folder, ['--exclude=refs/stash', '--all'], signal);
  const stashes = there.every((blob) => others.has(blob)) ? [] : stashesIn(folder);
  const stashed = await blobsIn(
    folder,
    stashes.flatMap(({ hash }) => [hash, `${hash}^@`]),
    signal,
  );
  for (const blob of there) {
    if (others.has(blob)) held.set(blob, 'commit');
    else if (stashed.has(blob)) held.set(blob, 'stash');
  }
  return held;
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
  /** The content, if it was read. */
  readonly bytes?: Buffer;
}

/** The contents that only these commits have: no other reference, no present file. */
export async function onlyIn(
  folder: string,
  { commits, keep, without, takesFiles }: Dropped,
  { facts, signal }: { readonly facts: GitFacts; readonly signal: AbortSignal },
): Promise<readonly GitContent[]> {
  const others = without === undefined ? [] : [...without.map((ref) => `--exclude=${ref}`), '--all'];
  const args = ['rev-list', '--objects', ...commits, '--not', ...keep, ...others];
  const listed = await git(folder, args, { signal });
  const lines = listed.ok ? listed.stdout.toString('utf8').split('\n') : [];
  const objects = lines.filter((line) => line.includes(' '));
  if (objects.length === 0) return [];
  const known =
    without === undefined ? new Set() : await facts.contentsOf(folder, checkedOut(folder), signal);
  const asked = objects.filter((line) => !known.has(line.slice(0, line.indexOf(' '))));
  const top = repositoryAround(folder) ?? folder;
  return (await blobsAmong(folder, asked, signal)).filter(
    ({ path, blob }) => takesFiles === true || !hasContent(join(top, path), blob),
  );
}

/** The blobs among objects are read if there are at most this many objects. */
const MAX_READ = 100;

/** The blobs among the objects that `git rev-list --objects` lists. */
async function blobsAmong(
  folder: string,
  objects: readonly string[],
  signal: AbortSignal,
): Promise<readonly GitContent[]> {
  if (objects.length === 0) return [];
  const isRead = objects.length <= MAX_READ;
  const format = '%(objecttype) %(objectname) %(objectsize) %(rest)';
  const args = ['cat-file', `--batch${isRead ? '' : '-check'}=${format}`];
  const { stdout } = await git(folder, args, { signal, input: `${objects.join('\n')}\n` });
  const blobs: GitContent[] = [];
  let at = 0;
  for (let end = stdout.indexOf('\n'); end >= 0; end = stdout.indexOf('\n', at)) {
    const [type, blob = '', size, ...names] = stdout.toString('utf8', at, end).split(' ');
    const start = end + 1;
    const isFound = isRead && size !== undefined;
    at = isFound ? start + Number(size) + 1 : start;
    const bytes = isFound ? { bytes: stdout.subarray(start, at - 1) } : {};
    if (type === 'blob') blobs.push({ path: names.join(' '), blob, ...bytes });
  }
  return blobs;
}

/** True if a file has the content to which git gives this name. */
function hasContent(path: string, hash: string): boolean {
  const bytes = unlessErrno(() => readFileSync(path));
  return bytes !== undefined && blobOf(bytes, hash) === hash;
}
