import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unlessErrno } from '../../model/fault.ts';

const FOLDER = 'lookfirst.abandoned';

/**
 * Changes that were refused because the server did not confirm their announcement. The announcement
 * may still reach the server later. Other processes would then take the change for an unfinished
 * one. So each such change has a file in the state folder, and the next process of this machine
 * withdraws the change.
 */
export class AbandonedChanges {
  readonly #folder: string | undefined;
  readonly #changes = new Set<string>();

  /** Without a state folder, only this process knows its abandoned changes. */
  constructor(home?: string) {
    if (home === undefined) return;
    this.#folder = join(home, FOLDER);
    // Ignore a missing or unreadable folder: usually no change was ever abandoned.
    const names = unlessErrno(() => readdirSync(join(home, FOLDER))) ?? [];
    for (const name of names) {
      const change = changeIn(name);
      if (change !== undefined) this.#changes.add(change);
    }
  }

  /** The abandoned changes that still have to be withdrawn from the server. */
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
    if (file === undefined) return;
    // Ignore a full or read-only disk: this process still withdraws the change, unless it is
    // killed.
    unlessErrno(() => {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(file, '', { mode: 0o600 });
    });
  }

  /** Forgets a change, because the server has confirmed that it is withdrawn. */
  delete(change: string): void {
    this.#changes.delete(change);
    const file = this.#fileOf(change);
    if (file === undefined) return;
    // On a read-only disk the file stays, and the change is withdrawn again later: that does no harm.
    unlessErrno(() => rmSync(file, { force: true }));
  }

  #fileOf(change: string): string | undefined {
    return this.#folder === undefined ? undefined : join(this.#folder, encodeURIComponent(change));
  }
}

/** The change that a file is named after. Undefined for a file that another program has made, which is left alone. */
function changeIn(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
