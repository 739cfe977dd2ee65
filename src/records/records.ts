import { setTimeout } from 'node:timers/promises';
import { type ChainReport, verifyChain } from '../journal/verify.ts';
import { type ChangeEntry, COMMAND_LINE, type Entry } from '../model/entry.ts';
import type { Images } from '../store/images.ts';
import { openRecordedState } from '../store/open-state.ts';
import type { RecordedState } from '../store/state.ts';
import type { EntryFilter, Store } from '../store/store.ts';
import type { EntryChoice } from './entry-choice.ts';
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
type FleetEntry = Entry & { readonly workspace?: string };

/** The interval at which a followed journal is queried for new entries. */
const FOLLOW_MS = 300;

/** Changes with the same beginning of their ids are searched up to this number. */
const MAX_NAMESAKES = 20;
const SHORTEST_ID = 8;
/** Matches the ids that most clients give their sessions. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Lookfirst's records: the store and the images. All commands and views for users read the records
 * through this class.
 */
export class Records {
  readonly store: Store;
  readonly images: Images;
  /** Present if machines share the records. */
  readonly fleet: RecordedState['fleet'];

  private constructor({ store, images, fleet }: RecordedState) {
    this.fleet = fleet;
    this.store = store;
    this.images = images;
  }

  /** Opens the records. By default creates nothing: a store that does not exist yet counts as empty. */
  static async open(place: RecordsPlace, missing: 'empty' | 'make' = 'empty'): Promise<Records> {
    const { home, workspace, store } = place;
    const folders = (place.folders ?? []).map((folder) => canonicalPath('/', folder).absolute);
    const name = workspace === undefined ? undefined : { workspace, roots: folders };
    return new Records(await openRecordedState(store, { home, folders, name, missing }));
  }

  /** The records of an open workspace. Do not close them: the workspace closes its own state. */
  static over(state: RecordedState): Records {
    return new Records(state);
  }

  /** The chosen entries, newest first. With `until`, only entries up to that position. */
  async *entries(choice: EntryChoice, until?: string): AsyncGenerator<FleetEntry> {
    const range = until === undefined ? {} : this.#between('0', until);
    for await (const entry of choice.of(this.store, range)) yield this.#placed(entry);
  }

  #placed(entry: Entry): FleetEntry {
    if (this.fleet === undefined) return entry;
    const { machine = this.fleet.machine, ...rest } = entry;
    return { ...rest, machine, workspace: this.fleet.workspaceOf(entry.root) };
  }

  /**
   * An opaque position in the journal, after all entries that exist now. In a store that machines
   * share, an entry may appear after entries with higher numbers, so the position is that of a commit.
   */
  async cursor(): Promise<string> {
    const { snapshot } = this.store;
    return snapshot === undefined ? String((await this.store.state()).head.seq) : await snapshot();
  }

  /** The filter for entries between two positions. '0' is the position before all entries. */
  #between(from: string, to: string): Pick<EntryFilter, 'afterSeq' | 'beforeSeq' | 'committed'> {
    return this.store.snapshot === undefined
      ? { afterSeq: Number(from), beforeSeq: Number(to) + 1 }
      : { committed: { from, to } };
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
    return { entries: await this.store.entries({ ...filter, ...this.#between(cursor, now) }), cursor: now };
  }

  /** Entries since a cursor, oldest first, as they arrive. Ends only when the caller stops. */
  async *follow(choice: EntryChoice, cursor: string): AsyncGenerator<FleetEntry> {
    for (let from = cursor; ; await setTimeout(FOLLOW_MS)) {
      const to = await this.cursor();
      const filter = { ...this.#between(from, to), order: 'oldest' } as const;
      if (to !== from) for await (const entry of choice.of(this.store, filter)) yield this.#placed(entry);
      from = to;
    }
  }

  /** A change by its id, in any workspace; undefined if there is none. */
  async change(id: string): Promise<ChangeEntry | undefined> {
    const [entry] = await this.store.entries({ change: id, kinds: ['change'], limit: 1 });
    return entry;
  }

  /** The changes whose ids begin with this text, at most a few. */
  async changesNamed(prefix: string): Promise<readonly ChangeEntry[]> {
    const found = await this.store.entries({ changePrefix: prefix, kinds: ['change'], limit: MAX_NAMESAKES });
    const exact = found.filter(({ change }) => change === prefix);
    return exact.length > 0 ? exact : [...new Map(found.map((entry) => [entry.change, entry])).values()];
  }

  /**
   * For each change, the shortest beginning of its id that names it alone, of at least
   * `SHORTEST_ID` characters.
   */
  async shortIds(changes: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const all = [...new Set(changes)].map(
      async (id) => [id, await shortest(id, (prefix) => this.changesNamed(prefix))] as const,
    );
    return new Map(await Promise.all(all));
  }

  /**
   * The sessions whose ids begin with a text, or the one whose id it is. Without the sub-agents of
   * these sessions.
   */
  async sessionsNamed(prefix: string): Promise<readonly string[]> {
    if (!(await this.lacksSession(prefix))) return [prefix];
    return namedBy(prefix, await this.#sessionIds());
  }

  /**
   * For each session with a UUID as its id and a record, the shortest beginning of the id that names
   * it alone, of at least `SHORTEST_ID` characters.
   */
  async shortSessions(sessions: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const long = new Set(sessions.filter((id) => UUID.test(id)));
    if (long.size === 0) return new Map();
    const ids = await this.#sessionIds();
    const all = ids
      .filter((id) => long.has(id))
      .map(async (id) => [id, await shortest(id, async (prefix) => namedBy(prefix, ids))] as const);
    return new Map(await Promise.all(all));
  }

  async #sessionIds(): Promise<readonly string[]> {
    return (await this.store.sessions()).map(({ id }) => id);
  }

  /** True if a session was named, and the store has neither its record nor an entry of it. */
  async lacksSession(session: string | undefined): Promise<boolean> {
    if (session === undefined || (await this.store.session(session)) !== undefined) return false;
    return (await this.store.entries({ session, limit: 1 })).length === 0;
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

  /** Verifies the hash chain of the journal's entries. */
  verify(options?: Parameters<typeof verifyChain>[1]): Promise<ChainReport> {
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

/** The shortest beginning of an id that names it alone, of at least `SHORTEST_ID` characters. */
async function shortest(id: string, named: (prefix: string) => Promise<readonly unknown[]>): Promise<string> {
  for (let length = SHORTEST_ID; length < id.length; length += 1) {
    const short = id.slice(0, length);
    if ((await named(short)).length === 1) return short;
  }
  return id;
}

/** The ids that begin with a text, without the sub-agents of the others. */
function namedBy(prefix: string, ids: readonly string[]): readonly string[] {
  const found = ids.filter((id) => id.startsWith(prefix));
  return found.filter((id) => !found.some((other) => id.startsWith(`${other}/`)));
}
