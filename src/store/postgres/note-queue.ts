import type { NewEntry } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import type { Notes, Writes } from '../store.ts';
import type { OwnView, SeenSessions } from './seen-sessions.ts';

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
      await this.#sendParts(batch);
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

  /** Sends notes in halves, and leaves out a single rejected one, which would block all later records. */
  async #sendParts(batch: Batch): Promise<void> {
    try {
      await this.#send(joinedWrites(batch, {}));
    } catch (error) {
      if (!isRejection(error)) {
        this.#putBack(batch);
        throw error;
      }
      const parts = halvesOf(batch);
      if (parts === undefined) return this.#leaveOut(batch, error);
      for (const part of parts) await this.#sendParts(part);
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

/** The two halves of some notes of reads, in their order. Undefined if only one note is left. */
function halvesOf({ views, entries }: Batch): readonly [Batch, Batch] | undefined {
  const size = views.length + entries.length;
  if (size < 2) return undefined;
  const half = size >> 1;
  const rest = Math.max(0, half - views.length);
  return [
    { views: views.slice(0, half), entries: entries.slice(0, rest) },
    { views: views.slice(half), entries: entries.slice(rest) },
  ];
}
