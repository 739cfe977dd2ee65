import type { Writes } from '../store.ts';

/**
 * Remembers whether any change is pending (announced and unfinished), so that most calls need no
 * query. None is pending if the last query found only changes of this connection, these are
 * finished, and no other connection has written since.
 */
export class PendingRows {
  readonly #own = new Set<string>();
  /**
   * The database version at which the last query found only pending changes of this connection.
   * Undefined if it found others, or if the stored state is unknown.
   */
  #onlyOwn: number | undefined;

  isEmpty(version: number): boolean {
    return this.#own.size === 0 && this.#onlyOwn === version;
  }

  /** Remembers the result of a query for all pending changes. */
  read(version: number, changes: readonly string[]): void {
    this.#onlyOwn = changes.every((change) => this.#own.has(change)) ? version : undefined;
    const found = new Set(changes);
    for (const change of this.#own) if (!found.has(change)) this.#own.delete(change);
  }

  /** Remembers the changes that a committed record begins or finishes. */
  recorded({ announce, settle }: Pick<Writes, 'announce' | 'settle'>): void {
    for (const change of settle ?? []) this.#own.delete(change);
    if (announce !== undefined) this.#own.add(announce.change);
  }

  /** Forgets the last query, because it is unknown what was stored, for example after a failed commit. */
  forget(): void {
    this.#onlyOwn = undefined;
  }
}
