import type { Entry, EntryKind, NewEntry, PendingChange } from '../model/entry.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Sighting } from '../model/sighting.ts';

/**
 * Where ledger and journal live. Everything a store returns was written whole: one `record` is one transaction.
 * Any failure is a Fault STORE_FAILED, never an empty answer: "could not look" is not "nothing there".
 */
export interface Store {
  /** `memory:`, `sqlite:/path`, … */
  readonly url: string;
  recall(session: string, key: string): Promise<Sighting | undefined>;
  sightings(session: string): Promise<readonly Sighting[]>;
  /** All of `writes` or none; returns its entries, numbered and chained. */
  record(writes: Writes): Promise<readonly Entry[]>;
  /** Entries that match, newest first unless `order` says otherwise. */
  entries(filter: EntryFilter): Promise<readonly Entry[]>;
  /** The newest settled change that touched this path, whoever made it. */
  lastChange(key: string): Promise<Entry | undefined>;
  /** Changes announced and not settled. */
  pending(): Promise<readonly PendingChange[]>;
  sessions(): Promise<readonly SessionRecord[]>;
  close(): Promise<void>;
}

export interface Writes {
  readonly sightings?: readonly { readonly session: string; readonly sighting: Sighting }[];
  /** Without a key: everything the session has seen. */
  readonly forget?: readonly { readonly session: string; readonly key?: string }[];
  readonly entries?: readonly NewEntry[];
  readonly announce?: PendingChange;
  /** Ids of announced changes that are now settled, done or not. */
  readonly settle?: readonly string[];
  readonly session?: SessionRecord;
  /** Removes the session's record as well as its sightings. */
  readonly dropSession?: string;
}

export interface EntryFilter {
  readonly session?: string;
  readonly root?: string;
  readonly key?: string;
  readonly change?: string;
  readonly kinds?: readonly EntryKind[];
  readonly sinceMs?: number;
  readonly untilMs?: number;
  /** Only entries after this number; for following and for verifying in pages. */
  readonly afterSeq?: number;
  readonly beforeSeq?: number;
  readonly order?: 'newest' | 'oldest';
  readonly limit?: number;
}
