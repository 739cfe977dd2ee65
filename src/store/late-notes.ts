import { type Awaitable, andThen } from '../model/awaitable.ts';
import type { Entry, NewEntry, PendingChange } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Sighting } from '../model/sighting.ts';
import { Batch } from './note-batch.ts';
import type {
  EntryFilter,
  Notes,
  PendingFilter,
  RecentChanges,
  SessionFilter,
  Store,
  StoreState,
  Writes,
} from './store.ts';

/** Notes of reads are collected for this time before they are written in one transaction. */
const WITHIN_MS = 10;
/** When this many notes of reads wait, they are written. Writing more at once would delay all other work. */
const AT_MOST = 128;

interface LateNotesOptions {
  readonly withinMs?: number;
  /**
   * `wait`: a record is sent only after the store has confirmed all earlier notes of reads.
   * `overlap`: it is sent right after the notes, without waiting; only for stores that keep the
   * order.
   */
  readonly records?: 'wait' | 'overlap';
  /** If notes of reads cannot be written, reads still succeed for this time and then fail. */
  readonly patienceMs?: number;
  readonly peers?: Set<LateNotes>;
}

/**
 * A store that delays notes (records of reads) for a few milliseconds, to write many in one
 * transaction. This process sees its notes at once: `recall` also searches waiting notes, and every
 * other query that depends on notes first writes them. If that fails, the query fails, and the
 * notes are kept for a retry.
 */
export class LateNotes implements Store {
  readonly url: string;
  readonly warnings: readonly string[];
  readonly #store: Store;
  readonly #withinMs: number;
  readonly #peers: Set<LateNotes>;
  #waiting = new Batch();
  #leaving: Batch | undefined;
  #left: Promise<void> = Promise.resolve();
  readonly #overlaps: boolean;
  readonly #patienceMs: number;
  #timer: NodeJS.Timeout | undefined;
  /** When writing notes first failed since the last success, as a `performance.now()` time. */
  #failedMs: number | undefined;
  /** Records that were sent right after batches of notes and are not answered yet. */
  readonly #overlapping = new Map<Promise<void>, Overlap>();
  /** True while the notes of a rejected batch are written in parts. New records wait meanwhile. */
  #inParts = false;
  #closed = false;
  readonly snapshot?: () => Promise<string>;
  readonly pruneReads?: (beforeMs: number) => Promise<number>;
  readonly confirm?: NonNullable<Store['confirm']>;

  /**
   * `peers`: all instances that this process has open on the same store. The new one joins them.
   */
  constructor(store: Store, options: LateNotesOptions = {}) {
    const { withinMs = WITHIN_MS, peers = new Set(), records = 'wait', patienceMs = 0 } = options;
    this.#overlaps = records === 'overlap';
    this.#patienceMs = patienceMs;
    const { snapshot, pruneReads } = store;
    const confirm = store.confirm?.bind(store);
    if (confirm !== undefined)
      this.confirm = async (previous, throughSeq) => {
        await this.#allWritten();
        return confirm(previous, throughSeq);
      };
    if (pruneReads !== undefined)
      this.pruneReads = async (beforeMs) => {
        await this.#allWritten();
        return pruneReads(beforeMs);
      };
    if (snapshot !== undefined)
      this.snapshot = async () => {
        await this.#allWritten();
        return snapshot();
      };
    this.url = store.url;
    this.warnings = store.warnings;
    this.#store = store;
    this.#withinMs = withinMs;
    this.#peers = peers;
    peers.add(this);
  }

  note(notes: Notes): Promise<void> | undefined {
    if (this.#closed) return Promise.reject(new Fault('MISUSE', 'the store was closed'));
    if (this.#isPastPatience()) return this.#written().then(() => this.#add(notes));
    return this.#add(notes);
  }

  /**
   * True if a new note must wait until the earlier notes are written, because writing them has
   * failed: for too long, or with too many notes waiting.
   */
  #isPastPatience(): boolean {
    if (this.#failedMs === undefined) return false;
    return this.#waiting.size >= AT_MOST || performance.now() - this.#failedMs >= this.#patienceMs;
  }

  recall(session: string, key: string): Awaitable<Sighting | undefined> {
    const noted = this.#peers.size === 1 ? this.#noted(session, key) : this.#newest(session, key);
    return noted ?? this.#store.recall(session, key);
  }

  recallMany(session: string, keys: readonly string[]): Awaitable<ReadonlyMap<string, Sighting>> {
    const noted = this.#newestOf(session, keys);
    const others = noted.size === 0 ? keys : keys.filter((key) => !noted.has(key));
    const stored = this.#store.recallMany(session, others);
    return noted.size === 0 ? stored : andThen(stored, (found) => new Map([...found, ...noted]));
  }

  record(writes: Writes): Promise<void> {
    // Fast path: write directly if no note of a read is waiting.
    for (const peer of this.#peers)
      if (peer.#waiting.size > 0 || peer.#leaving !== undefined) return this.#recordInTurn(writes);
    return this.#store.record(writes);
  }

  async #recordInTurn(writes: Writes): Promise<void> {
    const written = this.#allWritten();
    if (this.#mustWait()) {
      await written;
      return this.#store.record(writes);
    }
    const recorded = this.#store.record(writes);
    const batches = [...this.#peers].map((peer) => peer.#leaving);
    this.#overlapping.set(recorded, { writes, batches });
    await Promise.allSettled([written, recorded]);
    this.#overlapping.delete(recorded);
    return recorded;
  }

  /**
   * True if a record must wait until notes of reads are written: always without `overlap`,
   * otherwise if some notes are not sent yet.
   */
  #mustWait(): boolean {
    return !this.#overlaps || [...this.#peers].some((peer) => peer.#waiting.size > 0 || peer.#inParts);
  }

  async sightings(session: string): Promise<readonly Sighting[]> {
    await this.#allWritten();
    return this.#store.sightings(session);
  }

  async entries(filter: EntryFilter): Promise<readonly Entry[]> {
    await this.#allWritten();
    return this.#store.entries(filter);
  }

  async lastChange(key: string): Promise<Entry | undefined> {
    await this.#allWritten();
    return this.#store.lastChange(key);
  }

  async lastChanges(keys: readonly string[]): Promise<ReadonlyMap<string, Entry>> {
    await this.#allWritten();
    return this.#store.lastChanges(keys);
  }

  /** The recent changes. Waiting notes of reads need not be written first: they contain no changes. */
  changesSince(asked: RecentChanges): readonly NewEntry[] {
    return this.#store.changesSince(asked);
  }

  /** The pending changes. Waiting notes of reads need not be written first: they contain no changes. */
  pending(filter: PendingFilter = {}): Promise<readonly PendingChange[]> {
    return this.#store.pending(filter);
  }

  session(id: string): Promise<SessionRecord | undefined> {
    return this.#store.session(id);
  }

  sessions(filter: SessionFilter = {}): Promise<readonly SessionRecord[]> {
    return this.#store.sessions(filter);
  }

  async state(): Promise<StoreState> {
    await this.#allWritten();
    return this.#store.state();
  }

  async prune(throughSeq: number): Promise<number> {
    await this.#allWritten();
    return this.#store.prune(throughSeq);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    try {
      await this.#written();
    } finally {
      this.#peers.delete(this);
      await this.#store.close();
    }
  }

  #noted(session: string, key: string): Sighting | undefined {
    return this.#waiting.recall(session, key) ?? this.#leaving?.recall(session, key);
  }

  #newest(session: string, key: string): Sighting | undefined {
    let newest: Sighting | undefined;
    for (const peer of this.#peers) {
      const noted = peer.#noted(session, key);
      if (noted !== undefined && noted.atMs >= (newest?.atMs ?? 0)) newest = noted;
    }
    return newest;
  }

  #newestOf(session: string, keys: readonly string[]): ReadonlyMap<string, Sighting> {
    const noted = new Map<string, Sighting>();
    for (const key of keys) {
      const sighting = this.#newest(session, key);
      if (sighting !== undefined) noted.set(key, sighting);
    }
    return noted;
  }

  /** Resolves when the notes of reads of this instance and of all its peers are in the store. */
  #allWritten(): Promise<unknown> {
    if (this.#peers.size === 1) return this.#written();
    return Promise.all([...this.#peers].map((peer) => peer.#written()));
  }

  #add(notes: Notes): Promise<void> | undefined {
    this.#waiting.add(notes);
    if (this.#waiting.size >= AT_MOST && this.#failedMs === undefined) return this.#written();
    // Ignore a failure here: the next call retries and reports it.
    this.#timer ??= setTimeout(() => this.#written().catch(() => undefined), this.#withinMs);
    return undefined;
  }

  /** Resolves when every note of a read given to this instance so far is in the store. */
  #written(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.size > 0 && this.#leaving === undefined) this.#left = this.#write();
    else if (this.#waiting.size > 0) this.#left = this.#left.then(() => this.#write());
    return this.#left;
  }

  async #write(): Promise<void> {
    const batch = this.#waiting;
    if (batch.size === 0) return;
    this.#waiting = new Batch();
    this.#leaving = batch;
    try {
      try {
        await this.#store.record(batch.writes());
      } catch (error) {
        if (!isRejection(error)) throw error;
        await this.#writeInParts(batch);
      }
      this.#failedMs = undefined;
    } catch (error) {
      this.#failedMs ??= performance.now();
      await this.#supersede(batch);
      this.#waiting = batch.followedBy(this.#waiting);
      throw error;
    } finally {
      this.#leaving = undefined;
    }
  }

  async #writeInParts(batch: Batch): Promise<void> {
    this.#inParts = true;
    try {
      await this.#supersede(batch);
      await this.#writePart(batch.writes());
    } finally {
      this.#inParts = false;
    }
  }

  /**
   * Prepares a failed batch for a retry. Waits for the records that were sent after the batch, and
   * drops the notes that these records have replaced. A retry of these notes would undo the
   * records.
   */
  async #supersede(batch: Batch): Promise<void> {
    for (const peer of this.#peers)
      for (const [recorded, { writes, batches }] of peer.#overlapping)
        if (batches.includes(batch))
          await recorded.then(
            () => batch.supersede(writes),
            () => undefined,
          );
  }

  /**
   * Writes notes of reads, in halves if the store rejects some. Leaves out a single rejected note,
   * which would block all later records. After another error, a retry may journal some reads twice.
   */
  async #writePart(notes: Notes): Promise<void> {
    try {
      await this.#store.record(notes);
    } catch (error) {
      if (!isRejection(error)) throw error;
      const parts = halvesOf(notes);
      if (parts === undefined) return this.#leaveOut(notes, error);
      for (const part of parts) await this.#writePart(part);
    }
  }

  /**
   * Adds a journal entry that says which read could not be recorded. If the rejected note is a
   * sighting, its file then counts as unread.
   */
  async #leaveOut({ sightings: [seen], entries: [entry] }: Notes, { message }: Fault): Promise<void> {
    const { session = '', atMs = 0 } = entry ?? { ...seen, atMs: seen?.sighting.atMs };
    const what =
      seen === undefined
        ? `a read of ${entry?.path} could not be journalled`
        : `the read of ${seen.sighting.key} could not be recorded, so the file counts as unread`;
    const notice = { kind: 'notice', atMs, session, root: '/', text: `${what}: ${message}` } as const;
    const forget = seen === undefined ? [] : [{ session, key: seen.sighting.key }];
    for (const writes of [{ forget, entries: [notice] }, { forget }]) {
      try {
        return await this.#store.record(writes);
      } catch (error) {
        // After a rejection, try once more without the notice. If the store rejects that too, give
        // up: it does not accept this session id or path, so it has no earlier read to forget.
        if (!isRejection(error)) throw error;
      }
    }
  }
}

/** A record, and the batches of notes that were sent before it and not answered yet. */
interface Overlap {
  readonly writes: Writes;
  readonly batches: readonly (Batch | undefined)[];
}

/** True if the store will reject the same writes whenever they are sent. */
function isRejection(error: unknown): error is Fault {
  return error instanceof Fault && (error.reason === 'rejected' || error.reason === 'too-long');
}

/** The two halves of some notes of reads, in their order. Undefined if only one note is left. */
function halvesOf({ sightings, entries }: Notes): readonly [Notes, Notes] | undefined {
  const size = sightings.length + entries.length;
  if (size < 2) return undefined;
  const half = size >> 1;
  const rest = Math.max(0, half - sightings.length);
  return [
    { sightings: sightings.slice(0, half), entries: entries.slice(0, rest) },
    { sightings: sightings.slice(half), entries: entries.slice(rest) },
  ];
}
