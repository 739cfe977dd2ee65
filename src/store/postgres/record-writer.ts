import { randomBytes } from 'node:crypto';
import type { NewEntry, PendingChange } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { Durability } from '../../model/policy.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import { canonicalJson } from '../chain.ts';
import { column, concernedKeys, touchedKeys, viewRowText } from '../entry-columns.ts';
import type { Writes } from '../store.ts';
import type { Heart } from './heart.ts';
import { indexKey, type Names } from './names.ts';

type Fences = ReturnType<Heart['fencesOf']>;

const MINUTE_MS = 60_000;
const MAX_SUMMARISED = 10_000;
/**
 * A writer that was idle for this long no longer expects its hash chain to exist, because a
 * clean-up removes idle chains. The clean-up waits twice as long, because clocks of machines
 * differ.
 */
export const CHAIN_IDLE_MS: number = 7 * 86_400_000;
/** The server gets no announcement later than this after its change was refused. */
const LATEST_MS = 10_000;

/** The data that a store needs about its process. */
interface StoreContext {
  readonly names: Names;
  /** Identifies the process in the records of changes that it has begun. */
  readonly owner: string;
  /** Workspaces that several machines write to. */
  readonly sharedRoots: readonly string[];
  /**
   * Sends heartbeats during changes, so that other machines know that the changes are in progress.
   * Also tracks the leases of this process.
   */
  readonly heart?: Heart;
  /**
   * `full`: announced changes survive a power cut of the server. With the other values, only
   * finished changes are certain to survive it.
   */
  readonly durability?: Durability;
  /**
   * Set if the journal gets only the first read of each minute, session and file.
   */
  readonly summarisesReads?: true;
  /** Problems found while opening, for the user. */
  readonly warnings?: readonly string[];
  /** The time on the server's clock at which the callers of records that are sent now give up, if it is known. */
  readonly deadline?: () => number | undefined;
  /** Name of the hash chain that this writer appends to. Default: a new chain. */
  readonly chain?: string;
}

/** A record that is ready to be sent to the server. */
interface PreparedRecord {
  readonly writes: Writes;
  readonly text: string;
  /** Names of the reads in this record; see `readName`. */
  readonly summarised: readonly string[];
  /** Refused changes that this record withdraws. */
  readonly withdrawn: readonly string[];
}

/** Serialises records for the server function, and numbers them. */
export class RecordWriter {
  readonly chain: string;
  readonly #context: StoreContext;
  /** The leases under which each change in progress was announced. Removed when the change is finished. */
  readonly #announced = new Map<string, { readonly keys: readonly string[]; readonly fences: Fences }>();
  /**
   * Changes that were refused because the server did not confirm their announcement, with the time
   * from `performance.now()`. The server may get an announcement until its deadline, so records
   * withdraw these changes until then.
   */
  readonly #refused = new Map<string, number>();
  /** The minute of the last read in the journal, by session and file. */
  readonly #summarised = new Map<string, number>();
  #records = 0;
  #acknowledged = 0;
  #acknowledgedMs = 0;

  constructor(context: StoreContext) {
    this.#context = context;
    this.chain = context.chain ?? `${context.names.here}/${context.owner}/${randomBytes(4).toString('hex')}`;
  }

  /** The last entry number of this writer's hash chain that the server has confirmed. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** The refused changes that are not withdrawn yet. */
  get refused(): ReadonlyMap<string, number> {
    return this.#refused;
  }

  /**
   * Updates this writer after the server has answered a record. `number` is the number of the
   * record's last entry, or -1 if the server ignored the record because of its `ifPending`.
   */
  done({ writes, withdrawn }: PreparedRecord, number: number): void {
    for (const change of withdrawn)
      if (number >= 0 && performance.now() - (this.#refused.get(change) ?? 0) > LATEST_MS)
        this.#refused.delete(change);
    const { announce, settle = [] } = writes;
    // Count only durable records as confirmed. A crash of the server may lose the others. If they
    // counted, the loss would look as if an old backup had been restored.
    if (isDurable(writes, this.#context.durability) && number > this.#acknowledged) {
      this.#acknowledged = number;
      this.#acknowledgedMs = Date.now();
    }
    // Send no heartbeats for a change without a lock: its age decides whether it is abandoned.
    // Another process may settle the change, and this process would then send heartbeats for ever.
    if (announce !== undefined && announce.host?.hold !== 'none')
      this.#context.heart?.announced(announce.change);
    for (const change of settle) {
      this.#announced.delete(change);
      this.#context.heart?.settled(change);
    }
  }

  /**
   * Handles a record that failed. If the answer was lost, the next record withdraws the change that
   * this record announced, unless it was announced before (`ifPending`). The reads in this record
   * count as not journalled, so that the next read of each file is journalled.
   */
  failed({ writes: { announce, ifPending }, summarised }: PreparedRecord, error: unknown): void {
    const isUnanswered = error instanceof Fault && error.reason === 'unanswered';
    const isNew = announce !== undefined && ifPending === undefined;
    if (isNew && isUnanswered) this.#refused.set(announce.change, performance.now());
    for (const name of summarised) this.#summarised.delete(name);
  }

  /** Builds the JSON text that `lf_record` takes. Throws if the writes are not JSON. */
  prepare(writes: Writes): PreparedRecord {
    const now = Date.now();
    if (now - this.#acknowledgedMs > CHAIN_IDLE_MS) this.#acknowledged = 0;
    const written = (writes.entries ?? []).filter((entry) => !isShown(entry) || this.#isNew(entry));
    const entries = written.map((entry) => this.#entryOf(entry));
    const record: Record<string, unknown> = {
      chain: this.chain,
      machine: this.#context.names.here,
      now,
      acknowledged: entries.length === 0 ? 0 : this.#acknowledged,
      entries,
    };
    if (!isDurable(writes, this.#context.durability)) record['lazy'] = true;
    if (entries.length > 0) record['record'] = ++this.#records;
    if (!entries.some((entry) => 'o' in entry)) record['plain'] = true;
    const withdrawn = [...this.#refused.keys()];
    this.#addConditions(record, writes);
    this.#addViews(record, writes);
    this.#addChanges(record, { ...writes, settle: [...withdrawn, ...(writes.settle ?? [])] });
    return {
      writes,
      text: JSON.stringify(record),
      summarised: written.filter(isShown).map(readName),
      withdrawn,
    };
  }

  /** Adds the conditions that the server checks. If one of them is not met, the server writes nothing. */
  #addConditions(record: Record<string, unknown>, writes: Writes): void {
    const { ifPending } = writes;
    const fences = this.#fencesFor(writes);
    if (ifPending !== undefined) record['ifPending'] = column(ifPending);
    if (fences.length > 0) record['fences'] = fences;
  }

  /** Adds the views and losses to store, oldest first, and the sessions whose views are removed. */
  #addViews(record: Record<string, unknown>, { views = [], marks = [], forget = [] }: Writes): void {
    const { names } = this.#context;
    const rows = views.map(({ session, view }) => {
      const key = names.stored(view.sighting.key);
      return { s: column(session), k: column(key), v: viewRowText(view) };
    });
    const lost = marks.map(({ session, mark }) => ({ s: column(session), k: '', v: JSON.stringify(mark) }));
    if (rows.length + lost.length > 0) record['views'] = [...rows, ...lost];
    if (forget.length > 0) record['forget'] = forget.map(({ session }) => column(session));
  }

  #addChanges(record: Record<string, unknown>, writes: Writes): void {
    const { dropSession, settle = [], announce, session, images } = writes;
    if (dropSession !== undefined) record['dropSession'] = column(dropSession);
    if (settle.length > 0) record['settle'] = settle.map(column);
    if (announce !== undefined) {
      record['announce'] = this.#announceOf(announce);
      record['owner'] = this.#context.owner;
      record['by'] = this.#context.deadline?.();
    }
    if (session !== undefined) record['session'] = this.#sessionOf(session);
    const here = images?.here ?? [];
    if (here.length > 0) record['here'] = here.map(({ sha256, size }) => ({ h: sha256, z: size }));
  }

  /**
   * The lease numbers that the server checks: those of a change that is announced, or that enters
   * the journal. A change that ends without a journal entry was reverted and needs no check.
   */
  #fencesFor({ announce, settle = [], entries = [] }: Writes): Fences {
    if (announce !== undefined) {
      const keys = announce.locked ?? [];
      const fences = this.#fencesOf(keys);
      if (fences.length > 0) this.#announced.set(announce.change, { keys, fences });
      return fences;
    }
    return entries.length === 0 ? [] : settle.flatMap((change) => this.#fencesOfChange(change));
  }

  /**
   * The leases that cover the files of a change now. They differ from those of its announcement if
   * the record of its end was lost, and this process locks the files again to record the result.
   */
  #fencesOfChange(change: string): Fences {
    const announced = this.#announced.get(change);
    if (announced === undefined) return [];
    const held = this.#fencesOf(announced.keys);
    return held.length > 0 ? held : announced.fences;
  }

  #fencesOf(keys: readonly string[]): Fences {
    return this.#context.heart?.fencesOf(keys) ?? [];
  }

  /** False if the journal already has a read of this file by this session in the same minute. */
  #isNew(entry: NewEntry): boolean {
    if (this.#context.summarisesReads === undefined) return true;
    const name = readName(entry);
    const minute = Math.floor(entry.atMs / MINUTE_MS);
    if (this.#summarised.get(name) === minute) return false;
    if (this.#summarised.size >= MAX_SUMMARISED) this.#summarised.clear();
    this.#summarised.set(name, minute);
    return true;
  }

  #entryOf(entry: NewEntry): object {
    const stored = this.#storedEntry(entry);
    const { atMs, kind, session, root, path, change } = stored;
    const keys = touchedKeys(stored);
    const row: Record<string, unknown> = { a: atMs, k: kind, s: column(session), r: column(root) };
    if (path !== undefined) row['p'] = column(path);
    if (change !== undefined) row['c'] = column(change);
    row['t'] = canonicalJson(stored);
    if (keys.length > 0) row['o'] = keys.map(indexKey);
    return row;
  }

  #announceOf(announce: PendingChange): object {
    const text = JSON.stringify(this.#context.names.storedIn(announce));
    return {
      c: column(announce.change),
      r: column(this.#context.names.stored(announce.entry.root)),
      k: concernedKeys(announce).map((key) => column(this.#context.names.stored(key))),
      t: text,
    };
  }

  #sessionOf(session: SessionRecord): object {
    const stored = this.#context.names.storedIn(session);
    return { i: column(session.id), r: column(stored.root), t: JSON.stringify(stored), l: session.lastMs };
  }

  #storedEntry(entry: NewEntry): NewEntry {
    const { names } = this.#context;
    if (names.machine === undefined) return entry;
    // Assign the field instead of spreading: `storedIn` has already made a copy.
    return Object.assign(names.storedIn(entry), { machine: names.machine });
  }
}

/** Identifies the reads of one file by one session. The journal gets one of them per minute. */
function readName({ session, root, path = '' }: NewEntry): string {
  return `${session}\0${root}\0${path}`;
}

/** True if these writes take away views of a session. */
export function losesViews({ forget, marks, dropSession, views = [] }: Writes): boolean {
  if (forget !== undefined || marks !== undefined || dropSession !== undefined) return true;
  return views.some(({ view: { sighting } }) => sighting.lost !== undefined && sighting.lost !== 'evicted');
}

/**
 * True if a record must survive a power cut of the server. Reads need not, because a session can
 * read again. An announced change need not, except with `full`: its process still records the
 * finished change durably.
 */
function isDurable(writes: Writes, durability: Durability = 'none'): boolean {
  const { announce, settle, session, dropSession, entries = [] } = writes;
  if (losesViews(writes)) return true;
  if (settle !== undefined || session !== undefined || dropSession !== undefined) return true;
  if (announce !== undefined && durability === 'full') return true;
  return entries.some((entry) => !isShown(entry));
}

/** True for entries about content that a session was shown: reads, lists and searches. */
function isShown({ kind }: NewEntry): boolean {
  return kind === 'read' || kind === 'look';
}
