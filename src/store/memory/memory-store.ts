import { hash } from 'node:crypto';
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import type { Entry, NewEntry, PendingChange } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import type { Sighting } from '../../model/sighting.ts';
import { CHAIN_START, chainOn } from '../chain.ts';
import { matches, matchesPending } from '../entry-columns.ts';
import {
  type Adoption,
  changedWhileKept,
  damagedImage,
  type ImageHealth,
  type Images,
  type ImageUsage,
  type Kept,
  type KeptImage,
  type LateImage,
  missingImage,
} from '../images.ts';
import { Sightings } from '../sightings.ts';
import {
  type ChainLink,
  type EntryFilter,
  lastChangesOf,
  type Notes,
  type PendingFilter,
  type RecentEntries,
  RecentList,
  type SessionFilter,
  type Store,
  type StoreState,
  type Writes,
} from '../store.ts';

/** The reference store, whose answers every other store must match. Its content is lost when the process ends. */
export class MemoryStore implements Store {
  readonly url = 'memory:';
  readonly warnings: readonly string[] = [];
  readonly #sightings = new Sightings();
  readonly #sessions = new Map<string, SessionRecord>();
  readonly #pending = new Map<string, PendingChange>();
  #entries: Entry[] = [];
  /**
   * Recorded entries that have no number and hash yet. They get both when the journal is next
   * queried. Such queries are rare, and hashing is the slowest part of `record`.
   */
  #unchained: (NewEntry | string)[] = [];
  readonly #recent = new RecentList();
  #checkpoint: ChainLink = CHAIN_START;
  #head: ChainLink = CHAIN_START;
  #closed = false;

  recall(session: string, key: string): Sighting | undefined {
    this.#mustBeOpen();
    return this.#sightings.get(session, key);
  }

  recallMany(session: string, keys: readonly string[]): ReadonlyMap<string, Sighting> {
    this.#mustBeOpen();
    const found = new Map<string, Sighting>();
    for (const key of keys) {
      const sighting = this.#sightings.get(session, key);
      if (sighting !== undefined) found.set(key, sighting);
    }
    return found;
  }

  async sightings(session: string): Promise<readonly Sighting[]> {
    this.#mustBeOpen();
    return this.#sightings.of(session);
  }

  async record(writes: Writes): Promise<void> {
    this.#mustBeOpen();
    if (writes.ifPending !== undefined && !this.#pending.has(writes.ifPending)) return;
    const { sightings = [], settle = [], entries = [], announce, session } = writes;
    // Serialise first, so that a value that is not JSON fails before anything is written. The text also stays the same
    // if the caller later modifies the object.
    const texts = entries.map((entry) => JSON.stringify(entry));
    this.#drop(writes);
    this.#sightings.set(sightings);
    for (const change of settle) this.#pending.delete(change);
    if (announce !== undefined) this.#pending.set(announce.change, announce);
    if (session !== undefined) this.#sessions.set(session.id, session);
    for (const text of texts) this.#unchained.push(text);
    this.#recent.add(entries);
  }

  note({ sightings, entries }: Notes): undefined {
    this.#mustBeOpen();
    this.#sightings.set(sightings);
    this.#unchained.push(...entries);
    this.#recent.add(entries);
  }

  recent(cursor: number): RecentEntries {
    this.#mustBeOpen();
    return this.#recent.after(cursor);
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

  lastChanges(keys: readonly string[]): Promise<ReadonlyMap<string, Entry>> {
    return lastChangesOf(this, keys);
  }

  async pending(filter: PendingFilter = {}): Promise<readonly PendingChange[]> {
    this.#mustBeOpen();
    return [...this.#pending.values()].filter((pending) => matchesPending(pending, filter));
  }

  async session(id: string): Promise<SessionRecord | undefined> {
    this.#mustBeOpen();
    return this.#sessions.get(id);
  }

  async sessions({ roots }: SessionFilter = {}): Promise<readonly SessionRecord[]> {
    this.#mustBeOpen();
    return [...this.#sessions.values()]
      .filter(({ root }) => roots === undefined || roots.includes(root))
      .sort((a, b) => b.lastMs - a.lastMs);
  }

  async state(): Promise<StoreState> {
    this.#mustBeOpen();
    this.#chained();
    return { checkpoint: this.#checkpoint, head: this.#head, witness: undefined, bytes: 0 };
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
    // The cast is safe: `record` made each text from a NewEntry.
    const waiting = this.#unchained.map((each) =>
      typeof each === 'string' ? (JSON.parse(each) as NewEntry) : each,
    );
    const added = chainOn(this.#head, waiting);
    this.#unchained = [];
    // Append one by one: as arguments of one call, very many entries overflow the stack.
    for (const entry of added) this.#entries.push(entry);
    this.#head = linkOf(added.at(-1)) ?? this.#head;
    return this.#entries;
  }

  #drop({ dropSession, forget = [] }: Writes): void {
    if (dropSession !== undefined) {
      this.#sessions.delete(dropSession);
      this.#sightings.forget([{ session: dropSession }]);
    }
    this.#sightings.forget(forget);
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new Fault('MISUSE', 'the store was closed');
  }
}

function linkOf(entry: Entry | undefined): ChainLink | undefined {
  return entry && { seq: entry.seq, hash: entry.hash };
}

/** Old file contents (images) in memory. They are lost when the process ends. */
export class MemoryImages implements Images {
  readonly #images = new Map<string, { readonly bytes: Uint8Array; readonly sinceMs: number }>();
  readonly #now: () => number;
  /** The most bytes that one read call accepts, on every Node version. */
  readonly maxBytes: number = 2 ** 31 - 1;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async keepBytes(bytes: Uint8Array, fingerprint: Fingerprint): Promise<Kept> {
    const known = this.#images.has(fingerprint.sha256);
    const kept = this.#images.get(fingerprint.sha256)?.bytes ?? new Uint8Array(bytes);
    this.#images.set(fingerprint.sha256, { bytes: kept, sinceMs: this.#now() });
    return known ? 'shared' : 'copied';
  }

  async keepLink(fromPath: string, fingerprint: Fingerprint): Promise<Kept> {
    const bytes = readFileSync(fromPath);
    if (hash('sha256', bytes) !== fingerprint.sha256) throw changedWhileKept(fromPath);
    return this.keepBytes(bytes, fingerprint);
  }

  async adopt(fromPath: string, { sha256 }: Fingerprint, { bytes }: Adoption = {}): Promise<Kept> {
    const known = this.#images.has(sha256);
    // Do not hash the bytes here: `read` checks the hash.
    if (!known) this.#images.set(sha256, { bytes: bytes ?? readFileSync(fromPath), sinceMs: this.#now() });
    unlinkSync(fromPath);
    return known ? 'shared' : 'copied';
  }

  /** Nothing to sync: memory does not outlive the process. */
  async sync(): Promise<void> {}

  makePrivate(): void {}

  async has(sha256: string): Promise<boolean> {
    return this.#images.has(sha256);
  }

  async read({ sha256 }: Fingerprint): Promise<Uint8Array> {
    const image = this.#images.get(sha256);
    if (image === undefined) throw missingImage(sha256);
    if (hash('sha256', image.bytes) !== sha256) throw damagedImage(sha256, 'memory');
    return new Uint8Array(image.bytes);
  }

  async *chunks(fingerprint: Fingerprint): AsyncGenerator<Uint8Array> {
    yield await this.read(fingerprint);
  }

  async copyTo(fingerprint: Fingerprint, toPath: string): Promise<void> {
    const bytes = await this.read(fingerprint);
    try {
      writeFileSync(toPath, bytes, { flag: 'wx', mode: 0o600 });
    } catch (cause) {
      throw new Fault('IO_FAILED', `cannot write ${toPath}`, { cause, path: toPath });
    }
  }

  async check({ sha256 }: Fingerprint): Promise<ImageHealth> {
    return this.#images.has(sha256) ? 'intact' : 'missing';
  }

  /** Always empty: no other program can write into this memory. */
  async *setAsideLate(): AsyncGenerator<LateImage> {}

  adoptLate(): boolean {
    return false;
  }

  async *list(): AsyncGenerator<KeptImage> {
    for (const [sha256, { bytes, sinceMs }] of this.#images)
      yield { sha256, bytes: bytes.byteLength, sinceMs };
  }

  async usage(): Promise<ImageUsage> {
    let bytes = 0;
    for (const image of this.#images.values()) bytes += image.bytes.byteLength;
    return { count: this.#images.size, bytes };
  }

  async remove(hashes: readonly string[], needed: () => Promise<ReadonlySet<string>>): Promise<ImageUsage> {
    const before = await this.usage();
    const kept = await needed();
    for (const sha256 of hashes) if (!kept.has(sha256)) this.#images.delete(sha256);
    const after = await this.usage();
    return { count: before.count - after.count, bytes: before.bytes - after.bytes };
  }
}
