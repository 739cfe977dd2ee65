import { lstatSync } from 'node:fs';
import { errnoOf } from '../model/errno.ts';
import type { PinnedDirectory } from '../model/path.ts';

/** Files kept beyond those wanted, because some of them may turn out not to be shown. */
const SPARE = 1000;

/**
 * Keeps the newest of any number of files, by modification time, then name. Only the order comes
 * from here: a stat below the pinned folder may follow a link on its path.
 */
export class NewestFiles {
  /** The number of existing files that were not kept. */
  cut = 0;
  /** The number of existing files. */
  found = 0;
  readonly #dir: PinnedDirectory;
  readonly #keep: number;
  #files: Dated[] = [];
  #oldestMs = Number.NEGATIVE_INFINITY;

  constructor(dir: PinnedDirectory, wanted: number, spare: number = SPARE) {
    this.#dir = dir;
    this.#keep = wanted + spare;
  }

  /** Adds files by their paths relative to the folder. */
  add(paths: readonly string[]): void {
    const prefix = this.#dir.prefix;
    for (const path of paths) {
      const mtimeMs = mtimeOf(`${prefix}/${path}`);
      if (mtimeMs === 'gone') continue;
      this.found += 1;
      if (mtimeMs !== undefined && mtimeMs >= this.#oldestMs) this.#files.push({ path, mtimeMs });
      else this.cut += 1;
    }
    if (this.#files.length > 4 * this.#keep) this.#trim();
  }

  /** The kept paths, newest first. */
  newest(): readonly string[] {
    this.#trim();
    return this.#files.map(({ path }) => path);
  }

  #trim(): void {
    this.#files.sort((a, b) => b.mtimeMs - a.mtimeMs || (a.path < b.path ? -1 : 1));
    this.cut += Math.max(0, this.#files.length - this.#keep);
    this.#files.length = Math.min(this.#files.length, this.#keep);
    if (this.#files.length === this.#keep) this.#oldestMs = this.#files.at(-1)?.mtimeMs ?? this.#oldestMs;
  }
}

interface Dated {
  readonly path: string;
  readonly mtimeMs: number;
}

/**
 * Undefined for a path that cannot be reached, such as one that is not UTF-8: a caller could not
 * request it by its displayed name.
 */
function mtimeOf(path: string): number | 'gone' | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats?.mtimeMs ?? (path.includes('\uFFFD') ? undefined : 'gone');
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
