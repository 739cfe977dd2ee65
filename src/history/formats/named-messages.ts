import type { Fold } from '../fold.ts';

/** Messages with ids of their own: one that comes again under its id takes the place of the earlier. */
export class NamedMessages {
  readonly #fold: Fold;
  #names = new Set<string>();

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  /** What the next calls and results belong to. */
  begin(id: string | undefined): void {
    if (id === undefined) return;
    if (this.#names.has(id)) this.#fold.forgetMessage(id);
    this.#names.add(id);
  }

  /** A whole list follows: what is not in it was not seen. */
  clear(): void {
    this.#fold.reset();
    this.#names.clear();
  }

  state(): unknown {
    return { names: [...this.#names] };
  }

  restore(state: unknown): void {
    // Our own snapshot, checked for its version where it was opened.
    this.#names = new Set((state as { names: string[] }).names);
  }
}
