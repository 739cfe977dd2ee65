import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import type { TreeSnapshot } from '../model/entry.ts';
import { unlessErrno } from '../model/fault.ts';
import {
  git,
  gitFolderOf,
  namesPrinted,
  repositoryAround,
  type Unavailable,
  worktreeGitFolder,
} from './git.ts';
import { readIndexBytes, type Tracked, trackedAs } from './git-index.ts';
import { blobsIn, readBlobs } from './git-refs.ts';

const CR = 0x0d;
/** An index ends with a checksum of at least this length. */
const CHECKSUM_BYTES = 20;
/** The index stores sizes as numbers of 32 bits. */
const SIZE_LIMIT = 2 ** 32;
/** Line endings are counted only in blobs up to this size, and in so many bytes at once. */
const MAX_COUNTED_BYTES = 8 << 20;
const MAX_BATCH_BYTES = 32 << 20;
/** The contents of at most this many groups of commits are remembered. */
const MAX_CONTENTS = 4;

export type TrackedFiles = ReadonlyMap<string, Tracked>;

/**
 * Facts about repositories that cost time to find out and rarely change. A process that takes many
 * snapshots keeps one instance. A fact is used only while the files that it comes from are the same.
 */
export class GitFacts {
  readonly #sizes = new Map<string, number>();
  /** The size of a text with CRLF line endings, by its blob with LF; undefined if the blob has a CR. */
  readonly #crlfSizes = new Map<string, number | undefined>();
  /** The newest index of each root, with its checksum. */
  readonly #indexes = new Map<string, { readonly checksum: string; readonly tracked: TrackedFiles }>();
  /** The entries of an index that may have another size than their blob. */
  readonly #unequal = new WeakMap<TrackedFiles, readonly string[]>();
  /** The ids of all contents of commits, by the commits. */
  readonly #contents = new Map<string, ReadonlySet<string>>();
  readonly #marked = new WeakMap<TrackedFiles, readonly string[]>();
  readonly #filters = new Map<string, KnownFilters>();

  /** The tracked files below a root, which may be a subfolder of the repository. Undefined if the index cannot be read. */
  tracked({ root, index }: Pick<TreeSnapshot, 'root' | 'index'>): TrackedFiles | undefined {
    const tracked = this.#whole(root, index);
    const folder = existsSync(root) ? relative(repositoryAround(root) ?? root, root) : '';
    if (folder === '' || tracked === undefined) return tracked;
    const below = [...tracked].filter(([path]) => path.startsWith(`${folder}/`));
    return new Map(below.map(([path, each]) => [path.slice(folder.length + 1), each]));
  }

  #whole(root: string, index: string): TrackedFiles | undefined {
    const checksum = lastBytes(index, CHECKSUM_BYTES);
    const known = this.#indexes.get(root);
    if (known?.checksum === checksum) return known.tracked;
    const tracked = readIndexBytes(readFileSync(index));
    // Git can be told to leave the checksum out.
    if (tracked !== undefined && !/^\0*$/.test(checksum)) this.#indexes.set(root, { checksum, tracked });
    return tracked;
  }

  /** The files in the index of a repository. Empty if git cannot read it. */
  async staged(top: string, index: string, signal: AbortSignal): Promise<TrackedFiles> {
    const known = this.#whole(top, index);
    if (known !== undefined) return known;
    const listed = namesPrinted(await git(top, ['ls-files', '--stage', '-z'], { signal }));
    return new Map(
      listed.map((line) => {
        const [mode = '', blob = ''] = line.split(' ');
        return [line.slice(line.indexOf('\t') + 1), trackedAs(blob, Number.parseInt(mode, 8))];
      }),
    );
  }

  /** The ids of all contents in the trees of commits. They never change, so that the newest are remembered. */
  async contentsOf(
    folder: string,
    commits: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const key = [gitFolderOf(folder), ...commits].join(' ');
    const known = this.#contents.get(key);
    if (known !== undefined) return known;
    const found = await blobsIn(folder, commits, signal);
    for (const oldest of this.#contents.keys()) {
      if (this.#contents.size < MAX_CONTENTS) break;
      this.#contents.delete(oldest);
    }
    // Git may have failed.
    if (found.size > 0) this.#contents.set(key, found);
    return found;
  }

  /** The tracked files that the user has told git not to look at. */
  marked(tracked: TrackedFiles): readonly string[] {
    const known = this.#marked.get(tracked);
    if (known !== undefined) return known;
    const marked = [...tracked].flatMap(([path, each]) => (each.marked === undefined ? [] : path));
    this.#marked.set(tracked, marked);
    return marked;
  }

  /**
   * Git options that turn off the clean filters in the user's configuration. Otherwise git would run
   * these programs to compare the content of files with uncertain stat fields.
   */
  async withoutFilters(root: string, signal: AbortSignal): Promise<readonly string[]> {
    const known = this.#filters.get(root);
    if (known !== undefined && known.stamps === stampsOf(known.files)) return known.options;
    const top = repositoryAround(root) ?? root;
    const result = await git(root, ['config', '--show-origin', '--name-only', '-z', '--list'], { signal });
    const fields = namesPrinted(result);
    const keys = new Set(fields.filter((_field, at) => at % 2 === 1));
    const options = [...keys]
      .filter((key) => /^filter\..*\.(?:clean|process|required)$/.test(key))
      .flatMap((key) => ['-c', key.endsWith('.required') ? `${key}=false` : `${key}=`]);
    const origins = fields.flatMap((field) => /^file:(.+)$/.exec(field)?.[1] ?? []);
    const files = [...new Set([...origins.map((file) => resolve(top, file)), ...usualConfiguration(top)])];
    // A conditional include depends on more than files.
    const isFixed = result.ok && ![...keys].some((key) => key.startsWith('includeif.'));
    if (isFixed) this.#filters.set(root, { files, stamps: stampsOf(files), options });
    return options;
  }

  /**
   * The tracked files whose bytes cannot be derived from their blobs, because git has converted
   * them. A blob has the bytes of the file if it has the file's size. If git has only removed the
   * CR of each line, the bytes can be derived. Leaves out the files in `loose`.
   */
  async converted(
    root: string,
    tracked: TrackedFiles,
    { loose, signal }: { readonly loose: readonly string[]; readonly signal: AbortSignal },
  ): Promise<readonly string[] | Unavailable> {
    const unequal = await this.#unequalIn(root, tracked, signal);
    if ('unavailable' in unequal) return unequal;
    const left = new Set(loose);
    const differing: DifferingFile[] = [];
    for (const path of unequal) {
      const { blob, size } = tracked.get(path) ?? {};
      if (blob === undefined || left.has(path)) continue;
      const found = size ?? sizeAt(join(root, path));
      if (found !== undefined && found !== this.#sizes.get(blob))
        differing.push({ path, blob, size: found, isStored: size !== undefined });
    }
    await this.#learnLines(root, differing, signal);
    return differing.flatMap(({ path, blob, size, isStored }) =>
      isStored && this.#crlfSizes.get(blob) === size ? [] : [path],
    );
  }

  /** The tracked files for which the index stores no size, or another one than that of the blob. */
  async #unequalIn(
    root: string,
    tracked: TrackedFiles,
    signal: AbortSignal,
  ): Promise<readonly string[] | Unavailable> {
    const known = this.#unequal.get(tracked);
    if (known !== undefined) return known;
    const unavailable = await this.#learnSizes(root, tracked, signal);
    if (unavailable !== undefined) return unavailable;
    const unequal = [...tracked].flatMap(([path, { blob, size, link, marked }]) =>
      size === this.#sizes.get(blob) || link === true || marked === 'skipped' ? [] : [path],
    );
    this.#unequal.set(tracked, unequal);
    return unequal;
  }

  async #learnSizes(
    root: string,
    tracked: ReadonlyMap<string, Tracked>,
    signal: AbortSignal,
  ): Promise<Unavailable | undefined> {
    const unknown = new Set<string>();
    for (const { blob } of tracked.values()) if (!this.#sizes.has(blob)) unknown.add(blob);
    if (unknown.size === 0) return undefined;
    const blobs = [...unknown];
    const args = ['cat-file', '--batch-check=%(objectsize)'];
    const result = await git(root, args, { signal, input: `${blobs.join('\n')}\n` });
    if (!result.ok) return { unavailable: result.reason };
    for (const [at, size] of result.stdout.toString('latin1').split('\n').entries()) {
      const blob = blobs[at];
      // Git prints a name and `missing` for a blob that it does not have.
      if (blob !== undefined && /^\d+$/.test(size)) this.#sizes.set(blob, Number(size) % SIZE_LIMIT);
    }
    return undefined;
  }

  /** Counts the lines of the blobs whose files may differ from them by a CR in each line. */
  async #learnLines(root: string, files: readonly DifferingFile[], signal: AbortSignal): Promise<void> {
    const wanted = files.filter(({ blob, size, isStored }) => {
      const stored = this.#sizes.get(blob) ?? 0;
      return isStored && size > stored && size <= 2 * stored && stored <= MAX_COUNTED_BYTES;
    });
    const blobs = [...new Set(wanted.map(({ blob }) => blob))].filter((blob) => !this.#crlfSizes.has(blob));
    if (blobs.length === 0) return;
    for (const batch of batches(blobs, (blob) => this.#sizes.get(blob) ?? 0)) {
      const found = await readBlobs(root, batch, { signal });
      for (const [at, bytes] of found.entries())
        if (bytes !== undefined) this.#crlfSizes.set(batch[at] ?? '', withCrlf(bytes)?.length);
    }
  }
}

function lastBytes(path: string, count: number): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(count);
    readSync(file, bytes, 0, count, Math.max(0, fstatSync(file).size - count));
    return bytes.toString('latin1');
  } finally {
    closeSync(file);
  }
}

interface KnownFilters {
  /** The files that configure git for a folder. Some may not exist yet. */
  readonly files: readonly string[];
  readonly stamps: string;
  readonly options: readonly string[];
}

/** The files in which git finds its configuration if nothing names others. */
function usualConfiguration(top: string): readonly string[] {
  const own = gitFolderOf(top);
  const user = process.env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config');
  const folder =
    own === undefined ? [] : [join(own, 'config'), join(worktreeGitFolder(top), 'config.worktree')];
  return [...folder, join(homedir(), '.gitconfig'), join(user, 'git/config'), '/etc/gitconfig'];
}

/** Changes when one of the files changes. */
function stampsOf(files: readonly string[]): string {
  const stats = files.map((file) => unlessErrno(() => statSync(file, { throwIfNoEntry: false })));
  return stats.map((each) => `${each?.ino} ${each?.size} ${each?.ctimeMs}`).join();
}

/** Splits blobs into groups that are small enough to be read at once. */
function batches(blobs: readonly string[], sizeOf: (blob: string) => number): readonly string[][] {
  const groups: string[][] = [[]];
  let bytes = 0;
  for (const blob of blobs) {
    if (bytes > MAX_BATCH_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(blob);
    bytes += sizeOf(blob);
  }
  return groups;
}

/** A tracked file that has another size than its blob. */
interface DifferingFile {
  readonly path: string;
  readonly blob: string;
  readonly size: number;
  /** True if the index holds the size. Otherwise the size is that of the present file. */
  readonly isStored: boolean;
}

function sizeAt(path: string): number | undefined {
  const stats = unlessErrno(() => lstatSync(path, { throwIfNoEntry: false }));
  return stats?.isFile() === true ? stats.size % SIZE_LIMIT : undefined;
}

/** A text with CRLF in place of each LF; undefined if it has a CR already. */
function withCrlf(bytes: Buffer): Buffer | undefined {
  if (bytes.includes(CR)) return undefined;
  return Buffer.from(bytes.toString('latin1').replaceAll('\n', '\r\n'), 'latin1');
}

/**
 * The bytes that files had at the time of a snapshot, by path: those of their blobs, or derived
 * from them. Leaves out files whose bytes are not known, because git has converted them.
 */
export async function bytesAtSnapshot(
  snapshot: TreeSnapshot,
  candidates: readonly (Partial<Tracked> & { readonly path: string })[],
  { facts, signal }: { readonly facts: GitFacts; readonly signal: AbortSignal },
): Promise<ReadonlyMap<string, Buffer>> {
  const tracked = candidates.flatMap(({ path, blob, link }) =>
    blob === undefined ? [] : [{ path, blob, link }],
  );
  if (tracked.length === 0) return new Map();
  const place = readablePlace(snapshot);
  const wanted = tracked.map(({ blob }) => blob);
  const blobs = await readBlobs(place.root, wanted, { signal, repository: place.repository });
  const opaque = await opaquePaths(
    place,
    tracked.map(({ path }) => path),
    signal,
  );
  if ('unavailable' in opaque) return new Map();
  const converted = new Set(snapshot.converted);
  const entries = facts.tracked(snapshot);
  const known = new Map<string, Buffer>();
  for (const [at, { path, link }] of tracked.entries()) {
    const bytes = blobs[at];
    if (bytes === undefined || (link !== true && (opaque.has(path) || converted.has(path)))) continue;
    const size = entries?.get(path)?.size ?? bytes.length;
    const raw = link === true || bytes.length % SIZE_LIMIT === size ? bytes : withCrlf(bytes);
    if (raw !== undefined) known.set(path, raw);
  }
  return known;
}

type ReadablePlace = Pick<TreeSnapshot, 'root' | 'index' | 'repository'>;

/** The folder in which git reads blobs and attributes; for a removed worktree, its repository. */
function readablePlace({ root, index, shared }: TreeSnapshot): ReadablePlace {
  return shared === undefined || existsSync(root)
    ? { root, index }
    : { root: dirname(index), index, repository: shared };
}

/**
 * The paths that git converts in a way that may keep their size: by a program, by another encoding
 * or by keywords. The attributes count as they are now, and as they were at the snapshot.
 */
async function opaquePaths(
  { root, index, repository }: ReadablePlace,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlySet<string> | Unavailable> {
  const found = new Set<string>();
  const input = `${paths.join('\0')}\0`;
  const attributes = ['filter', 'ident', 'working-tree-encoding'];
  for (const from of [{}, { index }]) {
    const cached = 'index' in from ? ['--cached'] : [];
    const args = ['check-attr', ...cached, '--stdin', '-z', ...attributes];
    const result = await git(root, args, { signal, input, repository, ...from });
    if (!result.ok) return { unavailable: result.reason };
    const fields = namesPrinted(result);
    for (let at = 0; at + 2 < fields.length; at += 3) {
      const value = fields[at + 2] ?? '';
      if (value !== 'unspecified' && value !== 'unset') found.add(fields[at] ?? '');
    }
  }
  return found;
}
