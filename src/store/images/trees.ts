import {
  type BigIntStats,
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Fault, isMissing, unlessErrno, unlessMissing } from '../../model/fault.ts';
import { type Fingerprint, type Stamp, sameStamp } from '../../model/fingerprint.ts';
import type { Durability } from '../../model/policy.ts';
import type { Images, Kept, KeptTree, TreeFile } from '../images.ts';
import { beginsWith } from './bytes.ts';
import { type ImageFolder, moveUnlessTaken, removeIfThere, setAside, sync, writeNewSmall } from './folder.ts';
import { copyOfStart } from './late-image.ts';

/**
 * Number of listed files that are renamed to images (stored file contents) before other tasks may
 * run.
 */
const TAKEN_AT_ONCE = 32;

/** A folder outside the workspace, with its list of files as this process has read it. */
interface ListedTree extends KeptTree {
  /** The files by hash. Several files may hold the same bytes. */
  readonly byHash: ReadonlyMap<string, readonly TreeFile[]>;
  readonly sinceMs: number;
}

/** A file of a listed folder, with its present stats. */
interface TreeImage {
  readonly path: string;
  readonly file: TreeFile;
  readonly stats: BigIntStats;
}

/**
 * Folders that have left the workspace. Their files serve as images (stored file contents) where
 * they are, until `takeIn` renames them to images. A list in `trees/` names the files of each
 * folder with their hashes and stamps.
 *
 * A program that opened a file before its folder left the workspace may still write into it. Such a
 * write is found by the stamp: **a file with the listed stamp holds the listed bytes.** The stamp
 * was taken after the file system's clock had passed the last write, and moving the folder does not
 * change it. If the stamp differs, the bytes are compared. Both checks run before a file is renamed
 * to an image, and again after that.
 */
export class KeptTrees {
  readonly #images: ImageFolder;
  readonly #durability: Durability;
  readonly #adopting: Pick<Images, 'adopt'>;
  readonly #lists: string;
  readonly #known = new Map<string, ListedTree>();

  constructor(images: ImageFolder, durability: Durability, adopting: Pick<Images, 'adopt'>) {
    this.#images = images;
    this.#durability = durability;
    this.#adopting = adopting;
    this.#lists = join(images.path, 'trees');
  }

  keep({ folder, files }: KeptTree): void {
    const durability = this.#durability;
    const temp = this.#images.ready(this.#images.temp());
    mkdirSync(this.#lists, { recursive: true, mode: 0o700 });
    try {
      writeNewSmall(temp, Buffer.from(listText(relative(this.#images.path, folder), files)), durability);
      renameSync(temp, this.#listOf(folder));
    } catch (error) {
      removeIfThere(temp);
      throw error;
    }
    this.#sync([this.#lists, this.#images.path]);
  }

  holds(folder: string): boolean {
    return lstatSync(this.#listOf(folder), { throwIfNoEntry: false }) !== undefined;
  }

  /** Removes the list of a folder. Its files no longer count as stored contents. */
  drop(folder: string): void {
    this.#known.delete(basename(folder));
    removeIfThere(this.#listOf(folder));
  }

  /** A file that is listed with this hash, preferably one that no program has written to since. */
  find(sha256: string): TreeImage | undefined {
    const known = firstOf(this.#known.values(), sha256);
    return known === undefined && this.#isReadAgain() ? firstOf(this.#known.values(), sha256) : known;
  }

  /**
   * The size and age of all listed files, by hash. Includes files that were meanwhile renamed to
   * images (stored contents).
   */
  usage(): Map<string, { readonly bytes: number; readonly sinceMs: number }> {
    this.#isReadAgain();
    const usage = new Map<string, { readonly bytes: number; readonly sinceMs: number }>();
    for (const { files, sinceMs } of this.#known.values())
      for (const { fingerprint } of files) {
        const { bytes = 0, sinceMs: other = 0 } = usage.get(fingerprint.sha256) ?? {};
        const image = { bytes: bytes + fingerprint.size, sinceMs: Math.max(sinceMs, other) };
        usage.set(fingerprint.sha256, image);
      }
    return usage;
  }

  /**
   * Moves listed files out of their folder if a program has written to them, so that `setAsideLate`
   * reports them. Checks only files whose hash is a key of `wanted`.
   */
  async setAsideWritten(wanted: ReadonlyMap<string, Fingerprint>): Promise<void> {
    this.#isReadAgain();
    for (const tree of this.#known.values())
      for (const file of tree.files) {
        if (!wanted.has(file.fingerprint.sha256)) continue;
        const found = imageAt(tree, file);
        if (found !== undefined && !(await isUnwritten(found))) await this.#setAside(found);
      }
  }

  /**
   * Renames the files of listed folders to images (stored contents). With `hashes`, takes only
   * folders that contain a file with one of these hashes. Several processes may do this at the same
   * time.
   */
  async takeIn({
    hashes,
    signal,
  }: {
    readonly hashes?: readonly string[];
    readonly signal?: AbortSignal | undefined;
  }): Promise<void> {
    this.#isReadAgain();
    for (const tree of [...this.#known.values()]) {
      if (hashes?.some((sha256) => tree.byHash.has(sha256)) === false) continue;
      for (const [index, file] of tree.files.entries()) {
        if (signal?.aborted === true) return;
        const found = imageAt(tree, file);
        if (found !== undefined) await this.#takeInOne(found);
        if (index % TAKEN_AT_ONCE === 0) await setImmediate();
      }
      // The new names must be on the disk before the list of the old ones is removed.
      this.#sync([
        ...new Set(tree.files.map(({ fingerprint }) => dirname(this.#images.image(fingerprint.sha256)))),
      ]);
      removeEmptied(tree);
      this.drop(tree.folder);
    }
  }

  async #takeInOne(found: TreeImage): Promise<void> {
    const { path, file, stats } = found;
    try {
      if (!(await isUnwritten(found))) return await this.#setAside(found);
      const { fingerprint } = file;
      const { sha256 } = fingerprint;
      const adopt = (): Promise<Kept> =>
        this.#adopting.adopt(path, fingerprint, { durability: 'none', stats });
      const kept = await inOurFolder(path, adopt);
      const image = this.#images.image(sha256);
      if (kept === 'linked') this.#images.makePrivate(sha256, stats.mode);
      // Compare the bytes once more after the rename: a program may have written between the check
      // above and the rename.
      if (kept === 'linked' && !(await isStill(image, found))) setAside(image, this.#images.late(sha256));
    } catch (error) {
      // Ignore the error if another process has already renamed the file to an image.
      if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw error;
    }
  }

  /**
   * Moves a file that a program has changed since it was listed into the image folder, under the
   * name for late changes. If the file still begins with the listed content (the program only
   * appended), and that content is not stored yet, first stores a copy of it.
   */
  async #setAside({ path, file: { fingerprint } }: TreeImage): Promise<void> {
    const { sha256 } = fingerprint;
    if (lstatSync(this.#images.image(sha256), { throwIfNoEntry: false }) === undefined) {
      const copy = (await beginsWith(path, fingerprint))
        ? await copyOfStart(this.#images, path, fingerprint)
        : undefined;
      if (copy !== undefined) moveUnlessTaken(copy, this.#images.image(sha256));
    }
    setAside(path, this.#images.ready(this.#images.late(sha256)));
  }

  /**
   * Updates the known lists from the folder in which the lists are stored. Returns true if a list
   * was added or removed.
   */
  #isReadAgain(): boolean {
    const names = unlessMissing(() => readdirSync(this.#lists)) ?? [];
    let changed = false;
    for (const name of this.#known.keys())
      if (!names.includes(name)) changed = this.#known.delete(name) || changed;
    for (const name of names) {
      if (this.#known.has(name)) continue;
      const tree = this.#read(name);
      if (tree === undefined) continue;
      this.#known.set(name, tree);
      changed = true;
    }
    return changed;
  }

  /**
   * Reads the list of files of a folder that left the workspace. Undefined if the list is gone or
   * damaged; the files then stay where they are.
   */
  #read(name: string): ListedTree | undefined {
    const list = join(this.#lists, name);
    try {
      const { mtimeMs } = lstatSync(list);
      const { folder, files } = parsed(readFileSync(list, 'utf8'));
      const at = resolve(this.#images.path, folder);
      return { folder: at, files, byHash: groupedByHash(files), sinceMs: mtimeMs };
    } catch (error) {
      if (isMissing(error) || error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  #sync(folders: readonly string[]): void {
    if (this.#durability !== 'full' || process.platform === 'win32') return;
    for (const folder of folders) unlessMissing(() => sync(folder));
  }

  #listOf(folder: string): string {
    return join(this.#lists, basename(folder));
  }
}

function firstOf(trees: Iterable<ListedTree>, sha256: string): TreeImage | undefined {
  let written: TreeImage | undefined;
  for (const tree of trees)
    for (const file of tree.byHash.get(sha256) ?? []) {
      const found = imageAt(tree, file);
      if (found !== undefined && sameStamp(found.stats, file.stamp)) return found;
      written ??= found;
    }
  return written;
}

function groupedByHash(files: readonly TreeFile[]): ReadonlyMap<string, readonly TreeFile[]> {
  const groups = new Map<string, TreeFile[]>();
  for (const file of files) {
    const { sha256 } = file.fingerprint;
    const group = groups.get(sha256);
    if (group === undefined) groups.set(sha256, [file]);
    else group.push(file);
  }
  return groups;
}

function imageAt({ folder }: KeptTree, file: TreeFile): TreeImage | undefined {
  const path = `${folder}/${file.name}`;
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats?.isFile() === true ? { path, file, stats } : undefined;
}

async function isUnwritten({ path, file, stats }: TreeImage): Promise<boolean> {
  if (sameStamp(stats, file.stamp)) return true;
  return Number(stats.size) === file.fingerprint.size && (await beginsWith(path, file.fingerprint));
}

/**
 * False if the renamed file no longer holds its listed bytes. True if it does, or if it is no
 * longer under the image's name.
 */
async function isStill(image: string, { file, stats }: TreeImage): Promise<boolean> {
  const now = lstatSync(image, { bigint: true, throwIfNoEntry: false });
  if (now === undefined || now.ino !== stats.ino) return true;
  if (now.mtimeNs === stats.mtimeNs && now.size === stats.size) return true;
  return Number(now.size) === file.fingerprint.size && (await beginsWith(image, file.fingerprint));
}

/**
 * Runs `work`. If permission is denied, makes the file's folder writable and runs it again. The
 * folder has left the workspace, so its mode no longer matters.
 */
async function inOurFolder<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault) || (error.reason !== 'EACCES' && error.reason !== 'EPERM')) throw error;
    chmodSync(dirname(path), 0o700);
    return work();
  }
}

/**
 * Removes the folders that have become empty. Others contain links, or files that were added later;
 * a clean-up removes those.
 */
function removeEmptied({ folder, files }: KeptTree): void {
  const folders = new Set<string>([folder]);
  for (const { name } of files)
    for (let at = dirname(name); at !== '.' && !folders.has(`${folder}/${at}`); at = dirname(at))
      folders.add(`${folder}/${at}`);
  for (const each of [...folders].sort((a, b) => b.length - a.length)) unlessErrno(() => rmdirSync(each));
}

type Row = readonly [
  name: string,
  sha256: string,
  size: number,
  ino: string,
  mtimeNs: string,
  ctimeNs: string,
];

interface List {
  /** Path of the listed folder, relative to the folder of stored contents. */
  readonly folder: string;
  readonly dev: string;
  readonly files: readonly Row[];
}

function listText(folder: string, files: readonly TreeFile[]): string {
  const rows = files.map(({ name, fingerprint: { sha256, size }, stamp }): Row => {
    return [name, sha256, size, `${stamp.ino}`, `${stamp.mtimeNs}`, `${stamp.ctimeNs}`];
  });
  return JSON.stringify({ folder, dev: `${files[0]?.stamp.dev}`, files: rows } satisfies List);
}

function parsed(text: string): KeptTree {
  // The cast is safe: only our processes write to this private folder, and each list is written as a whole.
  const { folder, dev, files } = JSON.parse(text) as List;
  return {
    folder,
    files: files.map(([name, sha256, size, ino, mtimeNs, ctimeNs]) => ({
      name,
      fingerprint: { sha256, size },
      stamp: {
        dev: BigInt(dev),
        ino: BigInt(ino),
        size: BigInt(size),
        mtimeNs: BigInt(mtimeNs),
        ctimeNs: BigInt(ctimeNs),
      } satisfies Stamp,
    })),
  };
}
