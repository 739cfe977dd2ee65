import { existsSync, type FSWatcher, linkSync, lstatSync, readdirSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TreeSnapshot } from '../model/entry.ts';
import { errnoOf } from '../model/fault.ts';
import { ignoredByGit, repositoryAround } from './git.ts';
import { readIndex, type Tracked } from './git-index.ts';
import { type Candidate, dropSnapshot } from './git-snapshot.ts';

/**
 * A work tree with fewer tracked files than this is not watched, but compared in full. That is
 * fast, and it also finds changes that no watcher reports.
 */
const MIN_TRACKED = 5_000;
/**
 * Maximum number of events between two snapshots; after more events, the watch is given up. The
 * kernel drops events beyond 16,384 in its queue, and Node does not report the loss.
 */
const MAX_EVENTS = 4_096;
/**
 * If more files than this are untracked or differ from the index, a full snapshot costs less than
 * one from the watched changes.
 */
const MAX_LOOSE = 300;
const MAX_WATCHES = 20_000;
const FLUSH_MS = 2_000;

/**
 * Watches a large git work tree after its first snapshot, so that later snapshots need not stat
 * every file. It keeps the index of the first snapshot and the paths that have changed since.
 * Writes through memory maps and through other hard links are not noticed.
 */
export class WarmTree {
  readonly #base: TreeSnapshot;
  readonly #tracked: ReadonlyMap<string, Tracked>;
  readonly #watchers = new Map<string, FSWatcher>();
  /** Paths changed since the first snapshot. */
  readonly #changed = new Set<string>();
  /**
   * Paths that events reported since `#expand` last ran. `#expand` adds the files of folders among
   * them.
   */
  readonly #heard = new Set<string>();
  /** For each later snapshot in use, by the path of its index: the paths that changed since it was taken. */
  readonly #marks = new Map<string, Set<string>>();
  readonly #sentinel: string;
  #flushed: (() => void) | undefined;
  #settling: Promise<boolean> = Promise.resolve(true);
  #turn = 0;
  #events = 0;
  #isBroken = false;

  private constructor(base: TreeSnapshot, tracked: ReadonlyMap<string, Tracked>, sentinel: string) {
    this.#base = base;
    this.#tracked = tracked;
    this.#sentinel = sentinel;
  }

  /**
   * Begins to watch. Call it before the first snapshot is taken, and `adopt` after it, so that
   * changes in between are known. Undefined if the work tree is too small, too large, or cannot be
   * watched.
   */
  static async begin(
    root: string,
    { index, home, tag }: { readonly index: string; readonly home: string; readonly tag: string },
  ): Promise<WarmTree | undefined> {
    // Watch a work tree only if `root` is the top folder of its repository: the paths of an index
    // start there.
    const tracked = repositoryAround(root) === root ? readIndex(index) : undefined;
    if (tracked === undefined || tracked.size < MIN_TRACKED) return undefined;
    const folder = join(home, 'snapshots');
    const name = `${tag}-${Date.now()}`;
    const base = {
      root,
      index: join(folder, `warm-${name}`),
      loose: [],
      converted: [],
      uncovered: [],
      atMs: 0,
    };
    const tree = new WarmTree(base, tracked, join(folder, `flush-${name}`));
    linkSync(index, base.index);
    tree.#watch(folder, (heard) => heard === `flush-${name}${tree.#turn}` && tree.#flushed?.());
    await tree.#watchAll();
    return tree.#isBroken ? tree.#ended() : tree;
  }

  /** Watches every folder that git does not ignore, including empty folders. */
  async #watchAll(): Promise<void> {
    const { root } = this.#base;
    const folders = new Set(['', ...foldersOf(this.#tracked.keys())]);
    const others: string[] = [];
    for (const folder of folders) {
      this.#watchFolder(folder);
      for (const entry of entriesOf(join(root, folder))) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (entry.isDirectory() && path !== '.git' && !folders.has(path)) others.push(path);
      }
    }
    const ignored = await ignoredByGit(root, others);
    for (const path of others) if (!ignored.has(path)) this.#walk(path, new Set());
  }

  #loose: ReadonlySet<string> = new Set();
  #first: Pick<TreeSnapshot, 'converted' | 'uncovered'> = { converted: [], uncovered: [] };

  /** Stores the results of the first snapshot, on which later snapshots are based. */
  adopt({ loose, converted, uncovered }: TreeSnapshot): void {
    this.#loose = new Set(loose);
    this.#first = { converted, uncovered };
  }

  /** A snapshot of the work tree as it is now; undefined if only a full comparison can make one. */
  async snapshot(index: string): Promise<TreeSnapshot | undefined> {
    if (!(await this.#settled())) return undefined;
    const loose = [...new Set([...this.#loose, ...(await this.#relevant(this.#changed))])];
    if (loose.length > MAX_LOOSE || !existsSync(this.#base.index)) return undefined;
    linkSync(this.#base.index, index);
    this.#marks.set(index, new Set());
    return { root: this.#base.root, index, loose, ...this.#first, atMs: Date.now() };
  }

  /**
   * Paths that may have changed since a snapshot of this tree; undefined if only a full comparison
   * can find them.
   */
  async candidates({ index, loose }: TreeSnapshot): Promise<readonly Candidate[] | undefined> {
    const mark = this.#marks.get(index);
    if (mark === undefined || !(await this.#settled())) return undefined;
    const changed = await this.#relevant(mark);
    this.#marks.delete(index);
    const known = new Set(loose);
    return changed.filter((path) => !known.has(path)).map((path) => ({ path, ...this.#tracked.get(path) }));
  }

  close(): void {
    this.#isBroken = true;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    dropSnapshot({ index: this.#base.index });
    for (const turn of [0, 1]) dropSnapshot({ index: `${this.#sentinel}${turn}` });
  }

  #ended(): undefined {
    this.close();
  }

  /**
   * Waits until every event before this moment has arrived. False if some may be lost. Calls wait
   * for each other, because there is one marker at a time.
   */
  #settled(): Promise<boolean> {
    // If an earlier call failed, its caller has the error.
    this.#settling = this.#settling.catch(() => false).then(() => this.#settle());
    return this.#settling;
  }

  /**
   * Writes a marker file and waits for its event: all watches of a process share one queue, so
   * earlier events arrive first.
   */
  async #settle(): Promise<boolean> {
    if (this.#isBroken) return false;
    const arrived = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), FLUSH_MS);
      this.#flushed = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
    // Two marker files alternate, so that a late event of the previous marker does not end this
    // wait.
    this.#turn = 1 - this.#turn;
    writeFileSync(`${this.#sentinel}${this.#turn}`, String(Date.now()));
    const isWhole = (await arrived) && this.#events <= MAX_EVENTS;
    this.#flushed = undefined;
    this.#events = 0;
    if (isWhole) this.#expand();
    if (!isWhole || this.#isBroken) this.close();
    return !this.#isBroken;
  }

  #watchFolder(path: string): void {
    if (this.#watchers.has(path) || this.#isBroken) return;
    this.#watch(
      join(this.#base.root, path),
      (name) => this.#noted(path === '' ? name : `${path}/${name}`),
      path,
    );
  }

  #watch(folder: string, heard: (name: string) => void, key: string = folder): void {
    if (this.#watchers.size >= MAX_WATCHES) this.#isBroken = true;
    try {
      const watcher = watch(folder, { persistent: false }, (_type, name) => {
        if (name === null) this.#isBroken = true;
        else heard(name);
      });
      watcher.on('error', () => this.#forget(key));
      this.#watchers.set(key, watcher);
    } catch (error) {
      // Ignore a folder that no longer exists: the watch on its parent reports if it is created
      // again.
      if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') this.#isBroken = true;
    }
  }

  #forget(key: string): void {
    this.#watchers.get(key)?.close();
    this.#watchers.delete(key);
  }

  #noted(path: string): void {
    if (path === '.git' || path.startsWith('.git/')) return;
    this.#events += 1;
    this.#heard.add(path);
    this.#changed.add(path);
    for (const mark of this.#marks.values()) mark.add(path);
  }

  /** If a folder appeared or disappeared, adds all its files to the changed paths. */
  #expand(): void {
    for (const path of this.#heard) {
      if (!this.#watchers.has(path) && !isFolder(join(this.#base.root, path))) continue;
      const files = new Set<string>();
      this.#below(path, files);
      const marks = [...this.#marks.values()].filter((mark) => mark.has(path));
      for (const set of [this.#changed, ...marks]) for (const file of files) set.add(file);
    }
    this.#heard.clear();
  }

  /** The changed paths that are files which git tracks or does not ignore. */
  async #relevant(changed: ReadonlySet<string>): Promise<readonly string[]> {
    const files = [...changed].filter((path) => !isFolder(join(this.#base.root, path)));
    const unknown = files.filter((path) => !this.#tracked.has(path));
    const ignored = await ignoredByGit(this.#base.root, unknown);
    return files.filter((path) => !ignored.has(path));
  }

  #below(folder: string, files: Set<string>): void {
    const prefix = `${folder}/`;
    for (const path of this.#tracked.keys()) if (path.startsWith(prefix)) files.add(path);
    for (const path of this.#loose) if (path.startsWith(prefix)) files.add(path);
    if (isFolder(join(this.#base.root, folder))) this.#walk(folder, files);
    else this.#forget(folder);
  }

  #walk(folder: string, files: Set<string>): void {
    this.#forget(folder);
    this.#watchFolder(folder);
    for (const entry of entriesOf(join(this.#base.root, folder))) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) this.#walk(path, files);
      else files.add(path);
      if (files.size > MAX_EVENTS) this.#isBroken = true;
      if (this.#isBroken) return;
    }
  }
}

/** Identifies this process among those that share a state folder, and tells whether another one is alive. */
export interface TaggedOwner {
  readonly tag: string;
  isTagAlive(tag: string): boolean;
}

/** Removes files that watching processes left in the folder of snapshots when they were killed. */
export function removeWarmLeftovers(folder: string, { isTagAlive }: TaggedOwner): void {
  for (const { name } of entriesOf(folder)) {
    const tag = /^(?:warm|flush)-(.+)-\d+$/.exec(name)?.[1];
    if (tag !== undefined && !isTagAlive(tag)) dropSnapshot({ index: join(folder, name) });
  }
}

function entriesOf(folder: string): ReturnType<typeof readFolder> {
  try {
    return readFolder(folder);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}

function readFolder(folder: string) {
  return readdirSync(folder, { withFileTypes: true });
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Every folder that contains one of the paths. */
function foldersOf(paths: Iterable<string>): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const path of paths)
    for (let at = dirname(path); at !== '.' && !folders.has(at); at = dirname(at)) folders.add(at);
  return folders;
}
