import { knownOf } from '../../judge/known.ts';
import type { NewEntry } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { Sighting } from '../../model/sighting.ts';
import { type Mark, NEVER_SEEN, type Seen, type View } from '../../model/view.ts';
import { SharedRun } from '../../model/waiting.ts';
import { column, fromColumn, markFrom, viewFrom } from '../entry-columns.ts';
import { type Notes, VIEWS_OF_FILE, type Writes } from '../store.ts';
import type { PostgresConnection, Row } from './connection.ts';
import type { Names } from './names.ts';

/** Reads rely on an answer of the server that is at most this old. */
const TRUSTED_MS = 2000;
/** Sessions that were not used for this long are dropped from memory. */
const UNUSED_MS = 30_000;

/** A view of this process that may not have come back from the server yet. */
interface OwnView {
  readonly session: string;
  readonly view: View;
  isStored: boolean;
}

interface CachedSession {
  readonly files: Map<string, readonly View[]>;
  marks: readonly Mark[];
  /** Own views that the rows above lack, oldest first. */
  own: OwnView[];
  /** Transactions before this one are in the rows above. Undefined if nothing was loaded. */
  tx: string | undefined;
  checkedMs: number;
  usedMs: number;
  readonly refreshing: SharedRun;
}

/**
 * The views of the sessions that this process works for. Rows are only added, so a query for the
 * rows of newer transactions brings a session up to date.
 */
export class SeenSessions {
  readonly #db: PostgresConnection;
  readonly #names: Names;
  readonly #sessions = new Map<string, CachedSession>();

  constructor(db: PostgresConnection, names: Names) {
    this.#db = db;
    this.#names = names;
  }

  /**
   * Returns what the session was shown, from memory. Undefined if this process has not loaded the
   * session, or asked the server too long ago. `stale` accepts data of any age, for when the server
   * does not answer.
   */
  cached(session: string, key: string, trust: 'recent' | 'stale'): Seen | undefined {
    const known = this.#sessions.get(session);
    if (known?.tx === undefined) return undefined;
    known.usedMs = performance.now();
    if (trust === 'recent' && known.usedMs - known.checkedMs > TRUSTED_MS) return undefined;
    return seenIn(known, key);
  }

  /** Returns what the session was shown of these files, after a query that begins now. */
  async fresh(session: string, keys: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    const known = await this.#refreshed(session);
    const found = new Map<string, Seen>();
    for (const key of keys) {
      const seen = seenIn(known, key);
      if (seen.views.length > 0) found.set(key, seen);
    }
    return found;
  }

  /** Returns what the session knows of all its files, after a query that begins now. */
  async all(session: string): Promise<readonly Sighting[]> {
    const known = await this.#refreshed(session);
    const keys = new Set([...known.files.keys(), ...known.own.map(({ view }) => view.sighting.key)]);
    return [...keys].sort().flatMap((key) => knownOf(seenIn(known, key)) ?? []);
  }

  /** Adds views that this process is about to store. */
  adding(views: NonNullable<Writes['views']>): readonly OwnView[] {
    return views.map(({ session, view }) => {
      const own = { session, view, isStored: false };
      this.#sessionOf(session).own.push(own);
      return own;
    });
  }

  /** Takes back views that could not be stored. */
  failed(views: readonly OwnView[]): void {
    const gone = new Set(views);
    for (const session of new Set(views.map((own) => own.session))) {
      const known = this.#sessions.get(session);
      if (known !== undefined) known.own = known.own.filter((own) => !gone.has(own));
    }
  }

  /** Asks the server again for these sessions, because they have lost views. */
  outdated(sessions: readonly string[]): void {
    for (const session of sessions) {
      const known = this.#sessions.get(session);
      if (known !== undefined) known.checkedMs = Number.NEGATIVE_INFINITY;
    }
  }

  /** True if this process has added a newer view of the same file. */
  hasNewer({ session, view }: OwnView): boolean {
    const own = this.#sessions.get(session)?.own ?? [];
    const newest = own.findLast((each) => each.view.sighting.key === view.sighting.key);
    return newest !== undefined && newest.view !== view;
  }

  #sessionOf(session: string): CachedSession {
    const now = performance.now();
    for (const [id, { usedMs, own }] of this.#sessions)
      if (now - usedMs > UNUSED_MS && own.every(({ isStored }) => isStored)) this.#sessions.delete(id);
    const known = this.#sessions.get(session) ?? newSession(now);
    this.#sessions.set(session, known);
    known.usedMs = now;
    return known;
  }

  async #refreshed(session: string): Promise<CachedSession> {
    const known = this.#sessionOf(session);
    await known.refreshing.run(() => this.#refresh(session, known));
    return known;
  }

  async #refresh(session: string, known: CachedSession): Promise<void> {
    const stored = new Set(known.own.filter(({ isStored }) => isStored));
    const { tx } = known;
    const checkedMs = performance.now();
    const rows = await this.#db.repeat(
      'lf_seen',
      `select pg_snapshot_xmin(pg_current_snapshot())::text as mark, v.n, v.key, v.seen, v.machine
       from (select) one left join ${this.#db.schema}.views v on v.session = $1 and v.tx >= $2::text::xid8 order by v.n`,
      [column(session), tx ?? '0'],
    );
    for (const row of rows) if (row['n'] !== null) this.#add(known, row);
    known.own = known.own.filter((own) => !stored.has(own));
    known.tx = String(rows[0]?.['mark']);
    known.checkedMs = checkedMs;
  }

  #add(known: CachedSession, row: Row): void {
    const n = Number(row['n']);
    if (row['key'] === '') {
      if (known.marks.some((mark) => mark.n === n)) return;
      known.marks = [{ ...markFrom(String(row['seen'])), n }, ...known.marks];
      return;
    }
    const key = this.#names.local(fromColumn(String(row['key'])));
    const views = known.files.get(key) ?? [];
    const view = views.some((each) => each.n === n) ? undefined : viewFrom(key, String(row['seen']), n);
    if (view === undefined) return;
    const here = row['machine'] === this.#names.here;
    const sighting = here ? view.sighting : { ...view.sighting, stamp: undefined, racy: true };
    const older = views.findIndex((each) => (each.n ?? 0) < n);
    known.files.set(
      key,
      views.toSpliced(older < 0 ? views.length : older, 0, { ...view, sighting }).slice(0, VIEWS_OF_FILE),
    );
  }
}

function newSession(now: number): CachedSession {
  return {
    files: new Map(),
    marks: [],
    own: [],
    tx: undefined,
    checkedMs: Number.NEGATIVE_INFINITY,
    usedMs: now,
    refreshing: new SharedRun(),
  };
}

function seenIn({ files, marks, own }: CachedSession, key: string): Seen {
  const stored = files.get(key);
  const ownViews = own.flatMap(({ view }) => (view.sighting.key === key ? [view] : [])).reverse();
  if (stored === undefined && ownViews.length === 0) return NEVER_SEEN;
  return { views: stored === undefined ? ownViews : [...ownViews, ...stored], marks };
}

/** Notes of reads are collected for this time before they are written in one transaction. */
const WITHIN_MS = 10;
/** When this many notes of reads wait, they are written. Writing more at once would delay all other work. */
const AT_MOST = 128;
/**
 * If the server does not answer, reads still succeed for this time and are recorded later. After
 * that, reads fail until the server answers again.
 */
const PATIENCE_MS = 60_000;

/** Notes of reads, in their order. */
interface Batch {
  readonly views: readonly OwnView[];
  readonly entries: readonly NewEntry[];
}

const NO_NOTES: Batch = { views: [], entries: [] };

/** Notes of reads that are not sent yet. They are sent after a few milliseconds, or with the next record. */
export class NoteQueue {
  readonly #send: (writes: Writes) => Promise<void>;
  readonly #seen: SeenSessions;
  #waiting: Batch = NO_NOTES;
  /** Number of calls of `add` that wait. */
  #count = 0;
  readonly #sending = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  /** When sending notes first failed since the last success, as a `performance.now()` time. */
  #failedMs: number | undefined;

  constructor(seen: SeenSessions, send: (writes: Writes) => Promise<void>) {
    this.#seen = seen;
    this.#send = send;
  }

  /** Adds notes. Returns a promise if the caller must wait for the server. */
  add(notes: Notes): Promise<void> | undefined {
    if (this.#isPastPatience()) return this.flush().then(() => this.#add(notes));
    return this.#add(notes);
  }

  #isPastPatience(): boolean {
    if (this.#failedMs === undefined) return false;
    return this.#count >= AT_MOST || performance.now() - this.#failedMs >= PATIENCE_MS;
  }

  #add({ views, entries }: Notes): Promise<void> | undefined {
    const own = this.#seen.adding(views);
    this.#waiting = joined(this.#waiting, { views: own, entries });
    this.#count += 1;
    if (this.#count >= AT_MOST && this.#failedMs === undefined) return this.flush();
    // Ignore a failure here: the next call retries and reports it.
    this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), WITHIN_MS);
    return undefined;
  }

  /** Resolves when every note given so far is in the store. */
  flush(): Promise<void> {
    const batch = this.#take();
    if (batch !== NO_NOTES) {
      const sent = this.#deliver(batch, {}).finally(() => this.#sending.delete(sent));
      this.#sending.add(sent);
    }
    const all = Promise.all(this.#sending).then(() => undefined);
    // A caller may ignore this promise. The next call then retries and reports the failure.
    all.catch(() => undefined);
    return all;
  }

  /** Sends waiting notes and a record in one transaction. The writes must not depend on a condition. */
  sendWith(writes: Writes): Promise<void> {
    return this.#deliver(this.#take(), writes);
  }

  #take(): Batch {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting;
    this.#waiting = NO_NOTES;
    this.#count = 0;
    return batch;
  }

  async #deliver(batch: Batch, writes: Writes): Promise<void> {
    try {
      await this.#send(joinedWrites(batch, writes));
    } catch (error) {
      if (batch === NO_NOTES) throw error;
      if (!isRejection(error)) {
        this.#putBack(batch);
        throw error;
      }
      // Find out whether the notes or the other writes were rejected.
      await this.#sendEach(batch);
      if (Object.keys(writes).length > 0) await this.#send(writes);
    }
    this.#failedMs = undefined;
    for (const own of batch.views) own.isStored = true;
  }

  /** Keeps notes for another try, but no view that a later one has replaced. */
  #putBack(batch: Batch): void {
    this.#failedMs ??= performance.now();
    const replaced = batch.views.filter((own) => this.#seen.hasNewer(own));
    this.#seen.failed(replaced);
    const views = batch.views.filter((own) => !replaced.includes(own));
    this.#waiting = joined({ views, entries: batch.entries }, this.#waiting);
    this.#count += 1;
  }

  /** Sends notes one by one, and leaves out a rejected one, which would block all later records. */
  async #sendEach(batch: Batch): Promise<void> {
    const notes = [
      ...batch.views.map((own): Batch => ({ views: [own], entries: [] })),
      ...batch.entries.map((entry): Batch => ({ views: [], entries: [entry] })),
    ];
    for (const [index, note] of notes.entries())
      try {
        await this.#send(joinedWrites(note, {}));
      } catch (error) {
        if (!isRejection(error)) {
          this.#putBack(notes.slice(index).reduce(joined, NO_NOTES));
          throw error;
        }
        await this.#leaveOut(note, error);
      }
  }

  /**
   * Adds a journal entry that says which read could not be recorded. If the rejected note is a
   * view, its file then counts as unread.
   */
  async #leaveOut({ views, entries: [entry] }: Batch, { message }: Fault): Promise<void> {
    this.#seen.failed(views);
    const [own] = views;
    const session = own?.session ?? entry?.session ?? '';
    const atMs = own?.view.sighting.atMs ?? entry?.atMs ?? 0;
    const what =
      own === undefined
        ? `a read of ${entry?.path} could not be journalled`
        : `the read of ${own.view.sighting.key} could not be recorded, so the file counts as unread`;
    const notice = { kind: 'notice', atMs, session, root: '/', text: `${what}: ${message}` } as const;
    try {
      await this.#send({ entries: [notice] });
    } catch (error) {
      // The store does not accept this session id or path at all.
      if (!isRejection(error)) throw error;
    }
  }
}

function joined(first: Batch, second: Batch): Batch {
  return { views: [...first.views, ...second.views], entries: [...first.entries, ...second.entries] };
}

function joinedWrites({ views, entries }: Batch, writes: Writes): Writes {
  if (views.length === 0 && entries.length === 0) return writes;
  return {
    ...writes,
    views: [...views, ...(writes.views ?? [])],
    entries: [...entries, ...(writes.entries ?? [])],
  };
}

/** True if the store will reject the same writes whenever they are sent. */
function isRejection(error: unknown): error is Fault {
  return error instanceof Fault && (error.reason === 'rejected' || error.reason === 'too-long');
}
