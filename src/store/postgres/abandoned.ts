import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../../model/fault.ts';

const FOLDER = 'lookfirst.abandoned';

/**
 * Changes that were refused because the answer to their announcement did not come. The server may still receive it, and
 * processes that found it would take the change for unfinished. A file per change in the state folder outlives this
 * process, so that the next process of this machine withdraws the change.
 */
export class AbandonedChanges {
  readonly #folder: string | undefined;
  readonly #changes = new Set<string>();

  /** Without a state folder, only this process knows its abandoned changes. */
  constructor(home?: string) {
    this.#folder = home === undefined ? undefined : join(home, FOLDER);
    if (this.#folder === undefined) return;
    for (const name of namesIn(this.#folder)) this.#changes.add(decodeURIComponent(name));
  }

  /** The changes that the server has not been told about yet. */
  get all(): readonly string[] {
    return [...this.#changes];
  }

  /** True for a change that this process, or another one with this state folder, has abandoned. */
  has(change: string): boolean {
    if (this.#changes.has(change)) return true;
    const file = this.#fileOf(change);
    if (file === undefined || !existsSync(file)) return false;
    this.#changes.add(change);
    return true;
  }

  add(change: string): void {
    this.#changes.add(change);
    const file = this.#fileOf(change);
    if (this.#folder === undefined || file === undefined) return;
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(file, '', { mode: 0o600 });
    } catch (error) {
      // Ignore a full or read-only disk: this process still withdraws the change, unless it is killed first.
      if (errnoOf(error) === undefined) throw error;
    }
  }

  /** Forgets a change that the server knows to be withdrawn. */
  delete(change: string): void {
    this.#changes.delete(change);
    const file = this.#fileOf(change);
    if (file === undefined) return;
    try {
      rmSync(file, { force: true });
    } catch (error) {
      // Ignore a read-only disk: withdrawing the change once more does no harm.
      if (errnoOf(error) === undefined) throw error;
    }
  }

  #fileOf(change: string): string | undefined {
    return this.#folder === undefined ? undefined : join(this.#folder, encodeURIComponent(change));
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    // Ignore a missing or unreadable folder: usually no change was ever abandoned.
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}
