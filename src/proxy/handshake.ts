/** How long the end of a client's input waits for a server that does not answer. */
const PATIENCE_MS = 10_000;

/**
 * Keeps calls back while a server has been asked who it is and has not answered: what they mean depends on it. A client
 * should wait for that answer itself; one that does not would have its first calls read by guesswork.
 */
export class Handshake {
  #held: (() => void)[] | undefined;
  #onEnd: () => void = () => {};

  begin(): void {
    this.#held ??= [];
  }

  /** The answer has come, whatever it is, or never will. */
  end(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const act of held) act();
    this.#onEnd();
  }

  /** True: the act is done later, in its turn. */
  postpones(act: () => void): boolean {
    this.#held?.push(act);
    return this.#held !== undefined;
  }

  /** Resolves when nothing is held back any more, or when it has taken too long. */
  async over(): Promise<void> {
    if (this.#held === undefined || this.#held.length === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS);
      this.#onEnd = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
