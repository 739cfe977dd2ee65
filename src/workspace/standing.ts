import { readlinkSync } from 'node:fs';
import { errnoOf } from '../model/errno.ts';
import type { PinnedDirectory } from '../model/path.ts';
import { HeldDirectory } from './pinned.ts';

/** Long enough for the operations of one moment, too short to keep anyone from unmounting or mounting over a folder. */
const HOLD_MS = 1000;
const MAX_HELD = 64;

/**
 * Folders that were walked to a moment ago. The kernel says where a directory that is held open is now, by its real
 * names and never by a link, so that one question stands for another walk of all folders on the way.
 */
export class StandingFolders {
  readonly #held = new Map<string, HeldDirectory>();
  #release: NodeJS.Timeout | undefined;

  /** The folder at this canonical path, if it was kept and still stands there; the caller closes it. */
  at(path: string): PinnedDirectory | undefined {
    const held = this.#held.get(path);
    if (held === undefined) return undefined;
    if (whereIs(held) === path) return held.share();
    this.#held.delete(path);
    held.close();
    return undefined;
  }

  /** Keeps a folder that was walked to for a moment, and shares it with the caller, who closes what is returned. */
  keep(path: string, dir: PinnedDirectory): PinnedDirectory {
    // What the kernel says is read as text, and bytes that are no text would read like this.
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

/** Where the kernel says a directory is now; undefined if it cannot say, as for a path that is too long. */
export function whereIs(held: HeldDirectory): string | undefined {
  try {
    return readlinkSync(held.prefix);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
