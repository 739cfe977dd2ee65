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

  close(): void {
    if (this.#fd < 0) return;
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

/** A reference to a directory that another object owns. Closing it leaves the directory open. */
export class SharedDirectory implements PinnedDirectory {
  readonly #owner: PinnedDirectory;

  constructor(owner: PinnedDirectory) {
    this.#owner = owner;
  }

  get prefix(): string {
    return this.#owner.prefix;
  }

  enter(name: string): PinnedDirectory {
    return this.#owner.enter(name);
  }

  close(): void {}
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
