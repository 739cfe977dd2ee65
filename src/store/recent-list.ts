import type { NewEntry } from '../model/entry.ts';
import { CLAIM_KINDS, RECENT_ENTRIES, type RecentEntries } from './store.ts';

const KINDS: ReadonlySet<string> = new Set(CLAIM_KINDS);

/** Implements `Store.recent` in memory, for stores that cannot query new entries synchronously. */
export class RecentList {
  #entries: NewEntry[] = [];
  /** Number of entries dropped from the front. */
  #dropped = 0;

  /** Adds entries, in the order in which they were recorded. */
  add(entries: readonly NewEntry[]): void {
    for (const entry of entries) if (KINDS.has(entry.kind)) this.#entries.push(entry);
    if (this.#entries.length <= 2 * RECENT_ENTRIES) return;
    const gone = this.#entries.splice(0, this.#entries.length - RECENT_ENTRIES);
    // Keep claims longer: an explicit claim may last for hours.
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
