import { existsSync, lstatSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { TreeSnapshot } from '../model/entry.ts';
import { unlessErrno } from '../model/fault.ts';
import { repositoryAround } from './git.ts';
import { readIndex, type Tracked } from './git-index.ts';
import { git, type Unavailable } from './run-git.ts';

type SnapshotPlace = Pick<TreeSnapshot, 'root' | 'index'>;

/** The bytes of blobs, in order; undefined for a blob that git does not have. */
export async function readBlobs(
  { root, repository }: Pick<TreeSnapshot, 'root' | 'repository'>,
  blobs: readonly string[],
  signal: AbortSignal,
): Promise<readonly (Buffer | undefined)[] | Unavailable> {
  if (blobs.length === 0) return [];
  const input = `${blobs.join('\n')}\n`;
  const result = await git(root, ['cat-file', '--batch'], { signal, input, repository });
  if (!result.ok) return { unavailable: result.reason };
  const found: (Buffer | undefined)[] = [];
  let at = 0;
  for (const _blob of blobs) {
    const end = result.stdout.indexOf(LF, at);
    const header = result.stdout.subarray(at, end).toString('latin1').split(' ');
    at = end + 1;
    const size = header[1] === 'blob' ? Number(header[2]) : undefined;
    found.push(size === undefined ? undefined : result.stdout.subarray(at, at + size));
    if (size !== undefined) at += size + 1;
  }
  return found;
}

const LF = 0x0a;
const CR = 0x0d;
/** The index stores sizes as numbers of 32 bits. */
const SIZE_LIMIT = 2 ** 32;
/** Line endings are counted only in blobs up to this size, and in so many bytes at once. */
const MAX_COUNTED_BYTES = 8 << 20;
const MAX_BATCH_BYTES = 32 << 20;

/** Facts about git blobs, which never change. A process that takes many snapshots keeps one instance. */
export class BlobFacts {
  readonly #sizes = new Map<string, number>();
  /** The size of a text with CRLF line endings, by its blob with LF; undefined if the blob has a CR. */
  readonly #crlfSizes = new Map<string, number | undefined>();

  /**
   * The tracked files whose bytes cannot be derived from their blobs, because git has converted
   * them. A blob has the bytes of the file if it has the file's size. If git has only removed the
   * CR of each line, the bytes can be derived. Leaves out the files in `loose`.
   */
  async converted(
    place: SnapshotPlace,
    loose: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly string[] | Unavailable> {
    const files = comparable(place, loose);
    const sized = await this.#learnSizes(place, files, signal);
    if (sized !== undefined) return sized;
    const differing = files.filter(({ blob, size }) => this.#sizes.get(blob) !== size);
    const counted = await this.#learnLines(place, differing, signal);
    if (counted !== undefined) return counted;
    return differing.flatMap(({ path, blob, size, isStored }) =>
      isStored && this.#crlfSizes.get(blob) === size ? [] : [path],
    );
  }

  async #learnSizes(
    { root }: SnapshotPlace,
    files: readonly ComparableFile[],
    signal: AbortSignal,
  ): Promise<Unavailable | undefined> {
    const blobs = [...new Set(files.map(({ blob }) => blob))].filter((blob) => !this.#sizes.has(blob));
    if (blobs.length === 0) return undefined;
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
  async #learnLines(
    { root }: SnapshotPlace,
    files: readonly ComparableFile[],
    signal: AbortSignal,
  ): Promise<Unavailable | undefined> {
    const wanted = files.filter(({ blob, size, isStored }) => {
      const stored = this.#sizes.get(blob) ?? 0;
      return isStored && size > stored && size <= 2 * stored && stored <= MAX_COUNTED_BYTES;
    });
    const blobs = [...new Set(wanted.map(({ blob }) => blob))].filter((blob) => !this.#crlfSizes.has(blob));
    for (const batch of batches(blobs, (blob) => this.#sizes.get(blob) ?? 0)) {
      const found = await readBlobs({ root }, batch, signal);
      if ('unavailable' in found) return found;
      for (const [at, blob] of batch.entries()) {
        const bytes = found[at];
        this.#crlfSizes.set(blob, bytes === undefined ? undefined : withCrlf(bytes)?.length);
      }
    }
    return undefined;
  }
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

interface ComparableFile {
  readonly path: string;
  readonly blob: string;
  readonly size: number;
  /** True if the index holds the size. Otherwise the size is that of the present file. */
  readonly isStored: boolean;
}

/** The tracked files in the work tree, with their sizes. */
function comparable(place: SnapshotPlace, loose: readonly string[]): readonly ComparableFile[] {
  const left = new Set(loose);
  return trackedBelow(place).flatMap(([path, { blob, size, link, skipped }]) => {
    if (link === true || skipped === true || left.has(path)) return [];
    const found = size ?? sizeAt(join(place.root, path));
    return found === undefined ? [] : [{ path, blob, size: found, isStored: size !== undefined }];
  });
}

/** The tracked files below a root, which may be a subfolder of the repository. */
function trackedBelow({ root, index }: SnapshotPlace): readonly (readonly [string, Tracked])[] {
  const tracked = [...(readIndex(index) ?? [])];
  const folder = existsSync(root) ? relative(repositoryAround(root) ?? root, root) : '';
  if (folder === '') return tracked;
  const prefix = `${folder}/`;
  return tracked.flatMap(([path, each]) =>
    path.startsWith(prefix) ? [[path.slice(prefix.length), each] as const] : [],
  );
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
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Buffer>> {
  const tracked = candidates.flatMap(({ path, blob, link }) =>
    blob === undefined ? [] : [{ path, blob, link }],
  );
  const place = readablePlace(snapshot);
  const blobs = await readBlobs(
    place,
    tracked.map(({ blob }) => blob),
    signal,
  );
  const opaque = await opaquePaths(
    place,
    tracked.map(({ path }) => path),
    signal,
  );
  if ('unavailable' in blobs || 'unavailable' in opaque) return new Map();
  const converted = new Set(snapshot.converted);
  const sizes = new Map(trackedBelow(snapshot).map(([path, { size }]) => [path, size]));
  const known = new Map<string, Buffer>();
  for (const [at, { path, link }] of tracked.entries()) {
    const bytes = blobs[at];
    if (bytes === undefined || (link !== true && (opaque.has(path) || converted.has(path)))) continue;
    const size = sizes.get(path) ?? bytes.length;
    const raw = link === true || bytes.length % SIZE_LIMIT === size ? bytes : withCrlf(bytes);
    if (raw !== undefined) known.set(path, raw);
  }
  return known;
}

type ReadablePlace = Pick<TreeSnapshot, 'root' | 'index' | 'repository'>;

/** Where git can read blobs and attributes: of a worktree that was removed, in its repository. */
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
  if (paths.length === 0) return found;
  const input = `${paths.join('\0')}\0`;
  const attributes = ['filter', 'ident', 'working-tree-encoding'];
  for (const from of [{}, { index }]) {
    const cached = 'index' in from ? ['--cached'] : [];
    const args = ['check-attr', ...cached, '--stdin', '-z', ...attributes];
    const result = await git(root, args, { signal, input, repository, ...from });
    if (!result.ok) return { unavailable: result.reason };
    const fields = result.stdout.toString('utf8').split('\0');
    for (let at = 0; at + 2 < fields.length; at += 3) {
      const value = fields[at + 2] ?? '';
      if (value !== 'unspecified' && value !== 'unset') found.add(fields[at] ?? '');
    }
  }
  return found;
}
