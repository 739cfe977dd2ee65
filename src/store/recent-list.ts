import type { NewEntry } from '../model/entry.ts';
import { CLAIM_KINDS, RECENT_ENTRIES, type RecentEntries } from './store.ts';

const KINDS: ReadonlySet<string> = new Set(CLAIM_KINDS);

/** What `Store.recent` answers with, in memory: for stores that cannot query what is new at once. */
export class RecentList {
  #entries: NewEntry[] = [];
  /** How many entries were dropped from the front. */
  #dropped = 0;

  /** Call it with entries in the order in which they were recorded. */
  add(entries: readonly NewEntry[]): void {
    for (const entry of entries) if (KINDS.has(entry.kind)) this.#entries.push(entry);
    if (this.#entries.length <= 2 * RECENT_ENTRIES) return;
    const gone = this.#entries.splice(0, this.#entries.length - RECENT_ENTRIES);
    // A claim by hand may last for hours.
    const claims = gone.filter(({ kind }) => kind === 'claim').slice(-RECENT_ENTRIES);
    this.#dropped += gone.length - claims.length;
    this.#entries.unshift(...claims);
  }

  after(cursor: number): RecentEntries {
    const end = this.#dropped + this.#entries.length;
    if (cursor >= end) return { entries: [], cursor: end };
    return { entries: this.#entries.slice(Math.max(0, cursor - this.#dropped)), cursor: end };
  }
}
