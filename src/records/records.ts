import { setTimeout } from 'node:timers/promises';
import { type ChainReport, type VerifyOptions, verifyChain } from '../journal/verify.ts';
import { COMMAND_LINE, type Entry } from '../model/entry.ts';
import type { Images } from '../store/images.ts';
import { openRecordedState, type RecordedState } from '../store/open-state.ts';
import type { FleetView } from '../store/state.ts';
import type { EntryFilter, Store } from '../store/store.ts';
import type { EntryChoice } from './entry-choice.ts';
import { diffOf, type NetEffect, type PathDiff } from './net-effects.ts';
import { canonicalPath } from './scope.ts';

/** The state folder and the store, which contain all data of Lookfirst. */
export interface RecordsPlace {
  readonly home: string;
  /** URL of the store. */
  readonly store: string;
  /** The name of a workspace in a store that machines share. */
  readonly workspace?: string;
  /**
   * Absolute paths of the folders that the user works in. They count as the workspace's roots only
   * if the workspace is not known on this machine yet.
   */
  readonly folders?: readonly string[];
}

/** An entry and, if machines share the store, the name of the workspace that contains its root. */
export interface FleetEntry extends Entry {
  readonly workspace?: string;
}

/** The interval at which a followed journal is queried for new entries. */
const FOLLOW_MS = 300;

/** Changes with the same beginning of their ids are searched up to this number. */
const MAX_NAMESAKES = 20;
const SHORTEST_ID = 8;

/**
 * Lookfirst's records: the store and the images. All commands and views for users read the records
 * through this class.
 */
export class Records {
  readonly store: Store;
  readonly images: Images;
  /** Present if machines share the records. */
  readonly fleet: FleetView | undefined;

  private constructor({ store, images, fleet }: RecordedState) {
    this.fleet = fleet;
    this.store = store;
    this.images = images;
  }

  /** Opens the records without creating any. A store that does not exist yet counts as empty. */
  static async open(place: RecordsPlace): Promise<Records> {
    return new Records(await openRecordedState(place.store, { ...recordedAt(place), missing: 'empty' }));
  }

  /** The records of an open workspace. Do not close them: the workspace closes its own state. */
  static over(state: RecordedState): Records {
    return new Records(state);
  }

  /**
   * Opens the records, and creates the store if it is missing. For callers that wait for the first
   * entry or write one.
   */
  static async openOrCreate(place: RecordsPlace): Promise<Records> {
    return new Records(await openRecordedState(place.store, { ...recordedAt(place), missing: 'make' }));
  }

  /** The chosen entries, newest first. With `throughSeq`, only entries up to that number. */
  async *entries(choice: EntryChoice, throughSeq?: number): AsyncGenerator<FleetEntry> {
    const range = throughSeq === undefined ? {} : { beforeSeq: throughSeq + 1 };
    for await (const entry of choice.of(this.store, range)) yield this.#placed(entry);
  }

  #placed(entry: Entry): FleetEntry {
    if (this.fleet === undefined) return entry;
    const { machine = this.fleet.machine, ...rest } = entry;
    return { ...rest, machine, workspace: this.fleet.workspaceOf(entry.root) };
  }

  /** Number of the newest entry; 0 when there is none. */
  async newestSeq(): Promise<number> {
    return (await this.store.state()).head.seq;
  }

  /** An opaque position in the journal, from which `newSince` continues. */
  async cursor(): Promise<string> {
    const { snapshot } = this.store;
    return snapshot === undefined ? String(await this.newestSeq()) : await snapshot();
  }

  /**
   * Entries written since a cursor, newest first, and the next cursor. Costs one small query if
   * there are no new entries.
   */
  async newSince(
    cursor: string,
    filter: Pick<EntryFilter, 'near' | 'limit'>,
  ): Promise<{ readonly entries: readonly Entry[]; readonly cursor: string }> {
    const now = await this.cursor();
    if (now === cursor) return { entries: [], cursor };
    const since =
      this.store.snapshot === undefined
        ? { afterSeq: Number(cursor) }
        : { committed: { from: cursor, to: now } };
    return { entries: await this.store.entries({ ...filter, ...since }), cursor: now };
  }

  /**
   * Entries with numbers above `afterSeq`, oldest first, as they arrive. In a fleet store also
   * entries with lower numbers, if they are committed from now on. Ends only when the caller stops.
   */
  async *follow(choice: EntryChoice, afterSeq: number): AsyncGenerator<FleetEntry> {
    const { snapshot } = this.store;
    if (snapshot !== undefined) return yield* this.#followCommits(choice, snapshot, afterSeq);
    for (let after = afterSeq; ; ) {
      await setTimeout(FOLLOW_MS);
      const head = await this.newestSeq();
      if (head > after)
        yield* choice.of(this.store, { afterSeq: after, beforeSeq: head + 1, order: 'oldest' });
      after = head;
    }
  }

  /**
   * Like `follow`, for stores in which an entry may appear after entries with higher numbers. Finds
   * new entries by their commit. Of the entries committed before the first query, those with
   * numbers above `afterSeq` are new.
   */
  async *#followCommits(
    choice: EntryChoice,
    snapshot: () => Promise<string>,
    afterSeq: number,
  ): AsyncGenerator<FleetEntry> {
    // The first query begins at '0', a position before every commit.
    for (let [from, numbers] = ['0', { afterSeq }]; ; ) {
      const to = await snapshot();
      const filter = { ...numbers, committed: { from, to }, order: 'oldest' } as const;
      if (to !== from) for await (const entry of choice.of(this.store, filter)) yield this.#placed(entry);
      [from, numbers] = [to, { afterSeq: 0 }];
      await setTimeout(FOLLOW_MS);
    }
  }

  /** A change by its id, in any workspace; undefined if there is none. */
  async change(id: string): Promise<Entry | undefined> {
    const [entry] = await this.store.entries({ change: id, kinds: ['change'], limit: 1 });
    return entry;
  }

  /** The changes whose ids begin with this text, at most a few. */
  async changesNamed(prefix: string): Promise<readonly Entry[]> {
    const found = await this.store.entries({ changePrefix: prefix, kinds: ['change'], limit: MAX_NAMESAKES });
    const exact = found.filter(({ change }) => change === prefix);
    return exact.length > 0 ? exact : [...new Map(found.map((entry) => [entry.change, entry])).values()];
  }

  /**
   * For each change, the shortest beginning of its id that names it alone, of at least
   * `SHORTEST_ID` characters.
   */
  async shortIds(changes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const shorten = async (change: string): Promise<readonly [string, string]> => {
      for (let length = SHORTEST_ID; length < change.length; length += 1) {
        const short = change.slice(0, length);
        if ((await this.changesNamed(short)).length === 1) return [change, short];
      }
      return [change, change];
    };
    return new Map(await Promise.all([...new Set(changes)].map(shorten)));
  }

  /**
   * The program of each session: from the session's record or, if the record was removed, from the entry that opened
   * the session.
   */
  async clientsOf(sessions: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const clients = new Map<string, string>();
    for (const session of new Set(sessions)) {
      const known = (await this.store.session(session))?.client;
      const opened =
        known === undefined ? await this.store.entries({ session, kinds: ['session'], limit: 100 }) : [];
      const client = known ?? opened.find((entry) => entry.client !== undefined)?.client;
      if (client !== undefined) clients.set(session, client);
    }
    return clients;
  }

  /** The change of one path as text. */
  diff(effect: NetEffect, options: Parameters<typeof diffOf>[2]): Promise<PathDiff> {
    return diffOf(this.images, effect, options);
  }

  /** Verifies the hash chain of the journal's entries. */
  verify(options?: VerifyOptions): Promise<ChainReport> {
    return verifyChain(this.store, options);
  }

  /** Adds a journal entry: a command was refused because an agent started it. */
  async noteAttempt(attempt: {
    readonly text: string;
    readonly root: string;
    readonly nowMs: number;
  }): Promise<void> {
    const { text, root, nowMs } = attempt;
    await this.store.record({
      entries: [{ kind: 'notice', atMs: nowMs, session: COMMAND_LINE, root, text }],
    });
  }

  close(): Promise<void> {
    return this.store.close();
  }
}

function recordedAt(place: RecordsPlace) {
  const { home, workspace } = place;
  const folders = (place.folders ?? []).map((folder) => canonicalPath('/', folder).absolute);
  return workspace === undefined ? { home, folders } : { home, folders, name: { workspace, roots: folders } };
}
