import { readlinkSync } from 'node:fs';
import { errnoOf } from '../model/errno.ts';
import type { PinnedDirectory } from '../model/path.ts';
import { HeldDirectory } from './pinned.ts';

/** Long enough for the operations of one call, too short to block unmounting a folder or mounting over it. */
const HOLD_MS = 1000;
const MAX_HELD = 64;

/**
 * Folders that were walked a moment ago, held open. The kernel reports the current real path of an
 * open directory, without links. One such query replaces another walk through all folders on the
 * path.
 */
export class StandingFolders {
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

  /** Holds a walked folder for a moment and returns a shared reference, which the caller closes. */
  keep(path: string, dir: PinnedDirectory): PinnedDirectory {
    // The kernel's answer is decoded as UTF-8, so other bytes would look like U+FFFD.
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
 * The directory's current path according to the kernel; undefined if the kernel cannot report it,
 * for example if it is too long.
 */
export function whereIs(held: HeldDirectory): string | undefined {
  try {
    return readlinkSync(held.prefix);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
