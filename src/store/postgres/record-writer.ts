import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { NewEntry, PendingChange } from '../../model/entry.ts';
import { Fault, unlessErrno } from '../../model/fault.ts';
import type { Durability } from '../../model/policy.ts';
import type { SessionRecord } from '../../model/session-record.ts';
import { canonicalJson } from '../chain.ts';
import { column, concernedKeys, touchedKeys, viewRowText } from '../entry-columns.ts';
import type { Writes } from '../store.ts';
import { type Fence, type Heart, Moment } from './heart.ts';
import { indexKey, type Names } from './names.ts';

const MINUTE_MS = 60_000;
const MAX_SUMMARISED = 10_000;
/**
 * A writer that was idle for this long no longer expects its hash chain to exist, because a
 * clean-up removes idle chains. The clean-up waits twice as long, because clocks of machines
 * differ.
 */
export const CHAIN_IDLE_MS: number = 7 * 86_400_000;
/**
 * An announced change also renews the heartbeat of its process, if the last renewal is older than
 * this. A heartbeat is valid for 20 seconds.
 */
const OWNER_MS = 5000;

/** The data that a store needs about its process. */
export interface StoreContext {
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
   * If present, reads have a hash chain of their own, so that they can be removed earlier. `all`:
   * the chain holds all reads. `summary`: it holds the first read of each minute, session and file.
   */
  readonly reads?: 'all' | 'summary';
  /** Problems found while opening, for the user. */
  readonly warnings?: readonly string[];
  /** The state folder. It keeps a list of the changes that this process could not withdraw. */
  readonly home?: string;
  /** Name of the hash chain that this writer appends to. Default: a new chain. */
  readonly chain?: string;
}

/** A record that is ready to be sent to the server. */
interface PreparedRecord {
  readonly writes: Writes;
  readonly text: string;
  /**
   * The time at which the record was built, if it renews the heartbeat of its process; otherwise
   * undefined.
   */
  readonly renewsOwner: Moment | undefined;
  /**
   * Names of the reads in this record (see `readName`) if `journal.reads` is `summary`; otherwise
   * empty.
   */
  readonly summarised: readonly string[];
  readonly withdrawn: readonly string[];
}

/** Serialises records for the server function, and numbers them. */
export class RecordWriter {
  readonly chain: string;
  readonly #context: StoreContext;
  /** The leases under which each change in progress was announced. Removed when the change is finished. */
  readonly #announced = new Map<
    string,
    { readonly keys: readonly string[]; readonly fences: readonly Fence[] }
  >();
  readonly #abandoned: AbandonedChanges;
  /** The minute of the last read in the journal, by session and file. */
  readonly #summarised = new Map<string, number>();
  #records = 0;
  #acknowledged = 0;
  #acknowledgedMs = 0;
  #ownerRenewed: Moment | undefined;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#abandoned = new AbandonedChanges(context.home);
    this.chain = context.chain ?? `${context.names.here}/${context.owner}/${randomBytes(4).toString('hex')}`;
  }

  /** The last entry number of this writer's hash chain that the server has confirmed. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /**
   * True if this process, or another one with the same state folder, has abandoned the change, and
   * the server has not confirmed its withdrawal yet. Without an id: true if there is any such
   * change.
   */
  hasAbandoned(change?: string): boolean {
    return change === undefined ? this.#abandoned.all.length > 0 : this.#abandoned.has(change);
  }

  /**
   * Updates this writer after the server has answered a record. `number` is the number of the
   * record's last entry, or -1 if the server ignored the record because of its `ifPending`.
   */
  done({ writes, renewsOwner, withdrawn }: PreparedRecord, number: number): void {
    if (number >= 0) for (const change of withdrawn) this.#abandoned.delete(change);
    const { announce, settle = [] } = writes;
    // Count only durable records as confirmed. A crash of the server may lose the others. If they
    // counted, the loss would look as if an old backup had been restored.
    if (isDurable(writes, this.#context.durability) && number > this.#acknowledged) {
      this.#acknowledged = number;
      this.#acknowledgedMs = Date.now();
    }
    if (renewsOwner !== undefined) this.#ownerRenewed = renewsOwner;
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
    if (isNew && isUnanswered) this.#abandoned.add(announce.change);
    for (const name of summarised) this.#summarised.delete(name);
  }

  /** Builds the JSON text that `lf_record` takes. Throws if the writes are not JSON. */
  prepare(writes: Writes): PreparedRecord {
    const now = Date.now();
    // Renew the heartbeat at most once per `OWNER_MS`. It stays valid for longer, and `Heart`
    // renews it during changes.
    const isDue = writes.announce !== undefined && (this.#ownerRenewed?.ageMs ?? Infinity) > OWNER_MS;
    const renewsOwner = isDue ? new Moment() : undefined;
    if (now - this.#acknowledgedMs > CHAIN_IDLE_MS) this.#acknowledged = 0;
    const { entries, reads, summarised } = this.#entriesOf(writes.entries ?? []);
    const record: Record<string, unknown> = {
      chain: this.chain,
      machine: this.#context.names.here,
      now,
      acknowledged: entries.length === 0 ? 0 : this.#acknowledged,
      entries,
    };
    if (!isDurable(writes, this.#context.durability)) record['lazy'] = true;
    if (entries.length + reads.length > 0) record['record'] = ++this.#records;
    if (reads.length > 0) record['reads'] = reads;
    if (![...entries, ...reads].some((entry) => 'o' in entry)) record['plain'] = true;
    if (renewsOwner !== undefined) record['owner'] = this.#context.owner;
    const withdrawn = this.#abandoned.all;
    if (withdrawn.length > 0) record['withdraw'] = withdrawn.map(column);
    this.#addConditions(record, writes);
    this.#addViews(record, writes);
    this.#addChanges(record, writes);
    return { writes, text: JSON.stringify(record), renewsOwner, summarised, withdrawn };
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
    if (announce !== undefined) record['announce'] = this.#announceOf(announce);
    if (session !== undefined) record['session'] = this.#sessionOf(session);
    const here = images?.here ?? [];
    if (here.length > 0) record['here'] = here.map(({ sha256, size }) => ({ h: sha256, z: size }));
  }

  /**
   * The lease numbers that the server checks: those of a change that is announced, or that enters
   * the journal. A change that ends without a journal entry was reverted and needs no check.
   */
  #fencesFor({ announce, settle = [], entries = [] }: Writes): readonly Fence[] {
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
  #fencesOfChange(change: string): readonly Fence[] {
    const announced = this.#announced.get(change);
    if (announced === undefined) return [];
    const held = this.#fencesOf(announced.keys);
    return held.length > 0 ? held : announced.fences;
  }

  #fencesOf(keys: readonly string[]): readonly Fence[] {
    return this.#context.heart?.fencesOf(keys) ?? [];
  }

  #entriesOf(all: readonly NewEntry[]): {
    readonly entries: readonly object[];
    readonly reads: readonly object[];
    readonly summarised: readonly string[];
  } {
    if (this.#context.reads === undefined)
      return { entries: all.map((entry) => this.#entryOf(entry)), reads: [], summarised: [] };
    const shown = all.filter((entry) => isShown(entry) && this.#isNew(entry));
    return {
      entries: all.filter((entry) => !isShown(entry)).map((entry) => this.#entryOf(entry)),
      reads: shown.map((entry) => this.#entryOf(entry)),
      summarised: this.#context.reads === 'all' ? [] : shown.map(readName),
    };
  }

  /**
   * False if the journal already has a read of this file by this session in the same minute, and `reads` is `summary`.
   */
  #isNew(entry: NewEntry): boolean {
    if (this.#context.reads === 'all') return true;
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
    const stored: { -readonly [Field in keyof NewEntry]: NewEntry[Field] } = names.storedIn(entry);
    stored.machine = names.machine;
    return stored;
  }
}

/**
 * Identifies the reads of one file by one session. With `summary`, the journal gets one of them per
 * minute.
 */
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

const FOLDER = 'lookfirst.abandoned';

/**
 * Changes that were refused because the server did not confirm their announcement. The announcement
 * may still reach the server later. Other processes would then take the change for an unfinished
 * one. So each such change has a file in the state folder, and the next process of this machine
 * withdraws the change.
 */
class AbandonedChanges {
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
