import { existsSync, lstatSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { TreeSnapshot } from '../model/entry.ts';
import { unlessErrno } from '../model/fault.ts';
import { git, namesPrinted, repositoryAround, type Unavailable } from './git.ts';
import { readIndex, type Tracked } from './git-index.ts';
import { readBlobs } from './git-refs.ts';

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
    root: string,
    tracked: ReadonlyMap<string, Tracked>,
    { loose, signal }: { readonly loose: readonly string[]; readonly signal: AbortSignal },
  ): Promise<readonly string[] | Unavailable> {
    const sized = await this.#learnSizes(root, tracked, signal);
    if (sized !== undefined) return sized;
    const left = new Set(loose);
    const differing: DifferingFile[] = [];
    for (const [path, { blob, size, link, marked }] of tracked) {
      const stored = this.#sizes.get(blob);
      if (size === stored || link === true || marked === 'skipped' || left.has(path)) continue;
      const found = size ?? sizeAt(join(root, path));
      if (found !== undefined && found !== stored)
        differing.push({ path, blob, size: found, isStored: size !== undefined });
    }
    await this.#learnLines(root, differing, signal);
    return differing.flatMap(({ path, blob, size, isStored }) =>
      isStored && this.#crlfSizes.get(blob) === size ? [] : [path],
    );
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
    for (const batch of batches(blobs, (blob) => this.#sizes.get(blob) ?? 0)) {
      const found = await readBlobs(root, batch, { signal });
      for (const [at, bytes] of found.entries())
        if (bytes !== undefined) this.#crlfSizes.set(batch[at] ?? '', withCrlf(bytes)?.length);
    }
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

/** A tracked file that has another size than its blob. */
interface DifferingFile {
  readonly path: string;
  readonly blob: string;
  readonly size: number;
  /** True if the index holds the size. Otherwise the size is that of the present file. */
  readonly isStored: boolean;
}

/** The tracked files below a root, which may be a subfolder of the repository. Undefined if the index cannot be read. */
export function trackedBelow({
  root,
  index,
}: Pick<TreeSnapshot, 'root' | 'index'>): ReadonlyMap<string, Tracked> | undefined {
  const tracked = readIndex(index);
  const folder = existsSync(root) ? relative(repositoryAround(root) ?? root, root) : '';
  if (folder === '' || tracked === undefined) return tracked;
  const below = [...tracked].filter(([path]) => path.startsWith(`${folder}/`));
  return new Map(below.map(([path, each]) => [path.slice(folder.length + 1), each]));
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
  const entries = trackedBelow(snapshot);
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
