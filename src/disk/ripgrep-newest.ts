import { lstatSync } from 'node:fs';
import { errnoOf } from '../model/errno.ts';
import type { PinnedDirectory } from '../model/path.ts';

/** Files kept besides those wanted: room for some that turn out not to be shown. */
const SPARE = 1000;

/**
 * Keeps the newest of any number of files, by time of modification, then name. The times only order what is shown:
 * a path is looked up below the pinned folder, but a link on its way would be followed, so nothing else is taken
 * from here.
 */
export class NewestFiles {
  /** Files that are there and were not kept. */
  cut = 0;
  /** Files that are there. */
  found = 0;
  readonly #dir: PinnedDirectory;
  readonly #keep: number;
  #files: Dated[] = [];
  #oldestMs = Number.NEGATIVE_INFINITY;

  constructor(dir: PinnedDirectory, wanted: number, spare: number = SPARE) {
    this.#dir = dir;
    this.#keep = wanted + spare;
  }

  /** Takes paths relative to the folder. */
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

  /** Newest first. */
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

/** Undefined for what cannot be reached, such as a name that is not UTF-8: no one could ask for it by what is shown. */
function mtimeOf(path: string): number | 'gone' | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats?.mtimeMs ?? (path.includes('\uFFFD') ? undefined : 'gone');
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
