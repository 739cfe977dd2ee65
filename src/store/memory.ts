import type { Entry, NewEntry, PendingChange } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Sighting } from '../model/sighting.ts';
import { CHAIN_START, chainOn } from './chain.ts';
import { matches } from './entry-match.ts';
import type { ChainLink, EntryFilter, Notes, Store, StoreState, Writes } from './store.ts';

/** The reference store: what every other store must answer like. Gone when the process ends. */
export class MemoryStore implements Store {
  readonly url = 'memory:';
  readonly #sightings = new Map<string, Map<string, Sighting>>();
  readonly #sessions = new Map<string, SessionRecord>();
  readonly #pending = new Map<string, PendingChange>();
  #entries: Entry[] = [];
  /** Entries still to be numbered and chained: that costs more than the rest of a record, and few ever look. */
  #unchained: NewEntry[] = [];
  #checkpoint: ChainLink = CHAIN_START;
  #head: ChainLink = CHAIN_START;
  #closed = false;

  recall(session: string, key: string): Sighting | undefined {
    this.#mustBeOpen();
    return this.#sightings.get(session)?.get(key);
  }

  async sightings(session: string): Promise<readonly Sighting[]> {
    this.#mustBeOpen();
    return [...(this.#sightings.get(session)?.values() ?? [])];
  }

  async record(writes: Writes): Promise<void> {
    this.#mustBeOpen();
    if (writes.ifPending !== undefined && !this.#pending.has(writes.ifPending)) return;
    // Whatever can fail comes first: from here on all of it happens.
    const added = (writes.entries ?? []).map(copyOf);
    const announced = writes.announce === undefined ? undefined : copyOf(writes.announce);
    const opened = writes.session === undefined ? undefined : copyOf(writes.session);

    this.#drop(writes);
    for (const { session, sighting } of writes.sightings ?? [])
      this.#seenBy(session).set(sighting.key, sighting);
    for (const change of writes.settle ?? []) this.#pending.delete(change);
    if (announced !== undefined) this.#pending.set(announced.change, announced);
    if (opened !== undefined) this.#sessions.set(opened.id, opened);
    this.#unchained.push(...added);
  }

  note({ sightings, entries }: Notes): undefined {
    this.#mustBeOpen();
    for (const { session, sighting } of sightings) this.#seenBy(session).set(sighting.key, sighting);
    // Nobody changes a note afterwards, so it need not be copied.
    this.#unchained.push(...entries);
  }

  async entries(filter: EntryFilter): Promise<readonly Entry[]> {
    this.#mustBeOpen();
    const after = filter.afterSeq ?? 0;
    const before = filter.beforeSeq ?? Infinity;
    const entries = this.#chained();
    const inOrder = filter.order === 'oldest' ? entries : entries.toReversed();
    const found: Entry[] = [];
    for (const entry of inOrder) {
      if (found.length >= (filter.limit ?? Infinity)) break;
      if (entry.seq > after && entry.seq < before && matches(entry, filter)) found.push(entry);
    }
    return found;
  }

  async lastChange(key: string): Promise<Entry | undefined> {
    return (await this.entries({ key, kinds: ['change'], limit: 1 }))[0];
  }

  async pending(): Promise<readonly PendingChange[]> {
    this.#mustBeOpen();
    return [...this.#pending.values()];
  }

  async sessions(): Promise<readonly SessionRecord[]> {
    this.#mustBeOpen();
    return [...this.#sessions.values()].sort((a, b) => b.lastMs - a.lastMs);
  }

  async state(): Promise<StoreState> {
    this.#mustBeOpen();
    this.#chained();
    return { checkpoint: this.#checkpoint, head: this.#head, bytes: 0 };
  }

  async prune(throughSeq: number): Promise<number> {
    this.#mustBeOpen();
    const gone = this.#chained().filter((entry) => entry.seq <= throughSeq);
    this.#entries = this.#entries.slice(gone.length);
    this.#checkpoint = linkOf(gone.at(-1)) ?? this.#checkpoint;
    return gone.length;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #chained(): readonly Entry[] {
    if (this.#unchained.length === 0) return this.#entries;
    const added = chainOn(this.#head, this.#unchained);
    this.#unchained = [];
    this.#entries.push(...added);
    this.#head = linkOf(added.at(-1)) ?? this.#head;
    return this.#entries;
  }

  #drop(writes: Writes): void {
    if (writes.dropSession !== undefined) {
      this.#sessions.delete(writes.dropSession);
      this.#sightings.delete(writes.dropSession);
    }
    for (const { session, key } of writes.forget ?? []) {
      if (key === undefined) this.#sightings.delete(session);
      else this.#sightings.get(session)?.delete(key);
    }
  }

  #seenBy(session: string): Map<string, Sighting> {
    let seen = this.#sightings.get(session);
    if (seen === undefined) {
      seen = new Map();
      this.#sightings.set(session, seen);
    }
    return seen;
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new Fault('MISUSE', 'the store was closed');
  }
}

function linkOf(entry: Entry | undefined): ChainLink | undefined {
  return entry && { seq: entry.seq, hash: entry.hash };
}

/** As it would come back from a disk: plain data that later changes to the original do not reach. */
function copyOf<T>(value: T): T {
  // The text was just made from a T.
  return JSON.parse(JSON.stringify(value)) as T;
}
