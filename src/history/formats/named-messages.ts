import type { Fold } from '../fold.ts';

/** Tracks messages with ids: a later message with the same id replaces the earlier one. */
export class NamedMessages {
  readonly #fold: Fold;
  #names = new Set<string>();

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  /** Begins the message that the next calls and results belong to. */
  begin(id: string | undefined): void {
    if (id === undefined) return;
    if (this.#names.has(id)) this.#fold.forgetMessage(id);
    this.#names.add(id);
  }

  /** Call before a whole list: content missing from it was not seen. */
  clear(): void {
    this.#fold.reset();
    this.#names.clear();
  }

  state(): unknown {
    return { names: [...this.#names] };
  }

  restore(state: unknown): void {
    // This is Lookfirst's own snapshot, whose version was checked on opening.
    this.#names = new Set((state as { names: string[] }).names);
  }
}
