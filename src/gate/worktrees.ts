import { isWithin } from '../model/path.ts';
import { isMainWorktree, worktreesAround } from '../process/git.ts';

/**
 * Time for which the list of worktrees is cached. Worktrees come and go while a process runs, and finding them takes a
 * few small reads.
 */
const FRESH_MS = 5000;

/** The file in the agent's own worktree that corresponds to a file in another worktree. */
export interface Counterpart {
  /** Canonical folder of the agent's own worktree. */
  readonly own: string;
  readonly meant: string;
}

/**
 * The worktrees of the repositories that contain the given folders. Sessions in worktrees of one
 * repository are notified about each other's work.
 */
export class Worktrees {
  readonly #roots: readonly string[];
  readonly #now: () => number;
  #found: { readonly tops: readonly string[]; readonly atMs: number } | undefined;

  constructor({ roots, now }: { readonly roots: readonly string[]; now(): number }) {
    this.#roots = roots;
    this.#now = now;
  }

  /** The canonical folders of the worktrees. */
  tops(): readonly string[] {
    const atMs = this.#now();
    if (this.#found === undefined || atMs - this.#found.atMs > FRESH_MS)
      this.#found = { tops: [...new Set(this.#roots.flatMap(worktreesAround))], atMs };
    return this.#found.tops;
  }

  /** The worktree that contains a path; the innermost one if they are nested. */
  around(path: string): string | undefined {
    return this.tops()
      .filter((top) => isWithin(path, top))
      .sort((a, b) => b.length - a.length)[0];
  }

  /** Keys of the file with the same relative path in the other worktrees of its repository. */
  counterparts(key: string): readonly string[] {
    const tops = this.tops();
    const own = tops.length < 2 ? undefined : this.around(key);
    if (own === undefined) return [];
    return tops.filter((top) => top !== own).map((top) => top + key.slice(own.length));
  }

  /**
   * For a file in another worktree than `folder`: the file with the same relative path in the
   * worktree that contains `folder`. Undefined if both are in one worktree, or if the worktree of
   * `folder` is the main one.
   */
  counterpart(absolute: string, folder: string): Counterpart | undefined {
    const own = this.around(folder);
    const other = this.around(absolute);
    // Return nothing for an agent in the main checkout: such an agent names a path in another
    // worktree on purpose.
    if (own === undefined || other === undefined || own === other || isMainWorktree(own)) return undefined;
    return { own, meant: own + absolute.slice(other.length) };
  }
}
