import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, statfsSync } from 'node:fs';
import { Fault, unlessErrno } from '../model/fault.ts';
import type { PinnedDirectory } from '../model/path.ts';

/** Linux's O_PATH, for which Node has no constant: a handle to a file or folder without opening its content. */
const O_PATH = 0o10000000;

/** O_NOFOLLOW with O_DIRECTORY: a link in place of the directory fails with ENOTDIR and is never followed. */
const DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** A directory held open by a descriptor; used for the guarantee `walk` (see `GUARANTEES`). */
export class HeldDirectory implements PinnedDirectory {
  readonly #prefix: string;
  #fd: number;
  #shares = 0;
  #closed = false;

  private constructor(fd: number) {
    this.#fd = fd;
    this.#prefix = `/proc/self/fd/${fd}`;
  }

  /** Throws after close, because the descriptor number may belong to another directory by then. */
  get prefix(): string {
    if (this.#fd < 0) throw new Fault('MISUSE', 'the directory was closed');
    return this.#prefix;
  }

  static open(path: string): HeldDirectory {
    return new HeldDirectory(openSync(path, DIRECTORY));
  }

  enter(name: string): HeldDirectory {
    return HeldDirectory.open(`${this.prefix}/${name}`);
  }

  /** Returns another reference to this directory. The directory stays open until every reference is closed. */
  share(): PinnedDirectory {
    this.#shares += 1;
    return new SharedDirectory(this, () => {
      this.#shares -= 1;
      this.#release();
    });
  }

  close(): void {
    this.#closed = true;
    this.#release();
  }

  #release(): void {
    if (!this.#closed || this.#shares > 0 || this.#fd < 0) return;
    closeSync(this.#fd);
    this.#fd = -1;
  }
}

/**
 * A directory known only by its path; used for the guarantee `best-effort` (see `GUARANTEES`).
 * `enter` checks that the name is a directory and not a link.
 */
export class NamedDirectory implements PinnedDirectory {
  readonly prefix: string;

  constructor(path: string) {
    this.prefix = path;
  }

  enter(name: string): NamedDirectory {
    const path = `${this.prefix}/${name}`;
    if (!lstatSync(path).isDirectory())
      throw Object.assign(new Error(`not a directory: ${name}`), { code: 'ENOTDIR' });
    return new NamedDirectory(path);
  }

  close(): void {}
}

/**
 * A reference to a directory that another object owns. Closing it leaves the directory open and
 * calls `done` once.
 */
export class SharedDirectory implements PinnedDirectory {
  readonly #owner: PinnedDirectory;
  #done: (() => void) | undefined;

  constructor(owner: PinnedDirectory, done?: () => void) {
    this.#owner = owner;
    this.#done = done;
  }

  get prefix(): string {
    return this.#owner.prefix;
  }

  enter(name: string): PinnedDirectory {
    return this.#owner.enter(name);
  }

  close(): void {
    const done = this.#done;
    this.#done = undefined;
    done?.();
  }
}

/**
 * Time, in milliseconds, for which walked folders stay open: long enough for the operations of one
 * call, and too short to block unmounting.
 */
const HOLD_MS = 1000;
const MAX_HELD = 64;

/**
 * Folders that were walked a moment ago, held open. The kernel reports the current real path of an open directory,
 * with all links resolved. One such query replaces another walk through all folders on the path.
 */
export class RecentFolders {
  readonly #held = new Map<string, HeldDirectory>();
  #release: NodeJS.Timeout | undefined;

  /** The folder at this canonical path, if it is held and still has this path. The caller closes it. */
  at(path: string): PinnedDirectory | undefined {
    const held = this.#held.get(path);
    if (held === undefined) return undefined;
    if (whereIs(held) === path) return held.share();
    this.#held.delete(path);
    held.close();
    return undefined;
  }

  /**
   * Holds a walked folder for a moment and returns a shared reference. Returns `dir` itself if the
   * folder cannot be held. The caller closes the result.
   */
  keep(path: string, dir: PinnedDirectory): PinnedDirectory {
    // Do not hold a folder whose path is not valid UTF-8. Its path contains U+FFFD, and cannot be
    // compared with the path that the kernel reports.
    const readable = !path.includes('\ufffd');
    if (!(dir instanceof HeldDirectory) || !readable || this.#held.size >= MAX_HELD || this.#held.has(path))
      return dir;
    this.#held.set(path, dir);
    this.#release ??= setTimeout(() => this.close(), HOLD_MS).unref();
    return dir.share();
  }

  close(): void {
    clearTimeout(this.#release);
    this.#release = undefined;
    for (const held of this.#held.values()) held.close();
    this.#held.clear();
  }
}

/**
 * The directory's current path according to the kernel. Undefined if the kernel cannot report it,
 * for example because the path is too long.
 */
export function whereIs(held: HeldDirectory): string | undefined {
  return unlessErrno(() => readlinkSync(held.prefix));
}

/**
 * The ways to keep file access inside the workspace, strongest first. `walk`: every step goes
 * through an open directory handle, so a process that replaces a folder by a link cannot redirect
 * the access. `best-effort`: the path is checked, then used. A process that replaces a folder by a
 * link in between can redirect the access.
 */
export const GUARANTEES = ['walk', 'best-effort'] as const;
export type Guarantee = (typeof GUARANTEES)[number];

const PROC_SUPER_MAGIC = 0x9fa0;

/**
 * The strongest guarantee of this machine, found by a probe. `LOOKFIRST_GUARANTEE=best-effort`
 * forces the weaker one, so that the code for other platforms can be tested on Linux. `lookfirst
 * doctor` reports the guarantee in force.
 */
export function strongestGuarantee(): Guarantee {
  const isForced = process.env['LOOKFIRST_GUARANTEE'] === 'best-effort';
  return !isForced && canWalk() ? 'walk' : 'best-effort';
}

export function atLeast(have: Guarantee, asked: Guarantee): boolean {
  return GUARANTEES.indexOf(have) <= GUARANTEES.indexOf(asked);
}

/** True if /proc is a real proc file system and a handle resolves to the directory it was opened on. */
function canWalk(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    if (statfsSync('/proc').type !== PROC_SUPER_MAGIC) return false;
    const fd = openSync('/', O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      return fstatSync(fd).isDirectory() && readlinkSync(`/proc/self/fd/${fd}`) === '/';
    } finally {
      closeSync(fd);
    }
  } catch {
    // If the probe fails in any way, the walk is not reliable here.
    return false;
  }
}
