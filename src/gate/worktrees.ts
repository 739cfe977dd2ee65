import { isMainWorktree, worktreesAround } from '../process/git.ts';

/**
 * How long the list is cached. Worktrees come and go while a process runs, and finding them takes a few small reads.
 */
const FRESH_MS = 5000;

/** The same file in the agent's own worktree. */
export interface Counterpart {
  /** Canonical folder of the worktree. */
  readonly own: string;
  readonly meant: string;
}

/** The worktrees of the repositories that contain some folders. Worktrees of one repository share their claims. */
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

  /** Keys of the same file in the other worktrees of its repository. */
  twins(key: string): readonly string[] {
    const tops = this.tops();
    const own = tops.length < 2 ? undefined : this.around(key);
    if (own === undefined) return [];
    return tops.filter((top) => top !== own).map((top) => top + key.slice(own.length));
  }

  /**
   * The same file in the worktree of `folder`, if that is a linked worktree and the file is in another one of the same
   * repository.
   */
  counterpart(absolute: string, folder: string): Counterpart | undefined {
    const own = this.around(folder);
    const other = this.around(absolute);
    // An agent in the main checkout that names another worktree means that worktree.
    if (own === undefined || other === undefined || own === other || isMainWorktree(own)) return undefined;
    return { own, meant: own + absolute.slice(other.length) };
  }
}

/** True for the folder itself and everything in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}
