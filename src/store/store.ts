import type { Awaitable } from '../model/awaitable.ts';
import type { Entry, EntryKind, NewEntry, PendingChange } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Sighting } from '../model/sighting.ts';

/**
 * Where ledger and journal live. Everything a store returns was written whole: one `record` is one transaction.
 * Any failure is a Fault STORE_FAILED, never an empty answer: "could not look" is not "nothing there".
 */
export interface Store {
  /** `memory:`, `sqlite:/path`, … */
  readonly url: string;
  /** What happened while it was opened that its users must be told, such as a damaged database that was set aside. */
  readonly warnings: readonly string[];
  /** Synchronous where possible: every read calls it, and a turn of the event loop costs as much as the answer. */
  recall(session: string, key: string): Awaitable<Sighting | undefined>;
  /** The sightings of several files in one round trip; files that the session has not seen are absent. */
  recallMany(session: string, keys: readonly string[]): Awaitable<ReadonlyMap<string, Sighting>>;
  sightings(session: string): Promise<readonly Sighting[]>;
  /** All of `writes` or none; its entries are numbered and chained. */
  record(writes: Writes): Promise<void>;
  /**
   * Records what nobody waits for: whoever holds this store sees it at once, other processes within a few milliseconds.
   * A process that dies in between loses it, so only what can be had again may be noted: what a session was shown.
   * Undefined: there is nothing to wait for.
   */
  note(notes: Notes): Promise<void> | undefined;
  /** Entries that match, newest first unless `order` says otherwise. */
  entries(filter: EntryFilter): Promise<readonly Entry[]>;
  /** The newest settled change that touched this path, whoever made it. */
  lastChange(key: string): Promise<Entry | undefined>;
  /**
   * What claims follow from: entries of {@link CLAIM_KINDS} recorded since the cursor of an earlier answer, oldest first; with
   * cursor 0, those of the last minutes. Synchronous, because every read and change calls it and none waits for it: a store on
   * this machine is exact; a store behind a network answers from memory, at most seconds late for other processes, and
   * fetches what is new on its own time.
   */
  recent(cursor: number): RecentEntries;
  /** Changes that were announced and not settled. Every change asks for those at its own keys, so fetch only what matches. */
  pending(filter?: PendingFilter): Promise<readonly PendingChange[]>;
  session(id: string): Promise<SessionRecord | undefined>;
  /** Most recently used first. */
  sessions(filter?: SessionFilter): Promise<readonly SessionRecord[]>;
  /** Where the journal's chain begins and ends, and how much room the store takes. */
  state(): Promise<StoreState>;
  /**
   * A mark of what is committed by now, for `EntryFilter.committed`. Present where numbers become visible out of order, so
   * that a follower cannot go by them.
   */
  readonly snapshot?: () => Promise<string>;
  /** Removes the oldest entries up to and including a number; the chain then begins after it. Returns how many went. */
  prune(throughSeq: number): Promise<number>;
  /** Removes what sessions were shown before a time, and nothing else. Present where that has a chain of its own. */
  readonly pruneReads?: (beforeMs: number) => Promise<number>;
  /** Calling it twice is harmless; any other call afterwards is a Fault MISUSE. */
  close(): Promise<void>;
}

/** Kinds of entries from which claims follow. */
export const CLAIM_KINDS: readonly EntryKind[] = ['change', 'turn', 'claim', 'notice'];

/** With cursor 0, `Store.recent` looks back over this many entries; claims by hand are found however old they are. */
export const RECENT_ENTRIES = 5000;

export interface RecentEntries {
  readonly entries: readonly NewEntry[];
  /** For the next call. Has a meaning only to the store that gave it. */
  readonly cursor: number;
}

/** A numbered link of the chain: the entry's number and the hash that the next entry builds on. */
export interface ChainLink {
  readonly seq: number;
  readonly hash: string;
}

/** One chain of a journal that several writers append to, each to its own. */
export interface ChainState {
  readonly chain: string;
  readonly machine: string;
  /** Numbered within the chain. */
  readonly head: ChainLink;
  readonly checkpoint: ChainLink;
  /** JSON text of other chains and their ends when this one began; the first link builds on its hash. */
  readonly known: string;
}

export interface StoreState {
  /** Present if every writer has a chain of its own. `head` and `checkpoint` then only say which numbers are in use. */
  readonly chains?: readonly ChainState[];
  /** The last entry that was pruned; number 0 and 64 zeros when none was. */
  readonly checkpoint: ChainLink;
  /** The newest entry ever written. Kept apart from the entries, so that a missing end is noticed too. */
  readonly head: ChainLink;
  /**
   * The newest entry according to a note outside the store; undefined if there is none. It may be older than `head`. If it is
   * newer, entries were lost or removed.
   */
  readonly witness: ChainLink | undefined;
  /** Room on disk; 0 for a store in memory. */
  readonly bytes: number;
}

/**
 * One transaction. Whatever the order of the fields: `ifPending` is asked first, then things are dropped and
 * forgotten, then written, so that "forget all, then note this" is one call.
 */
export interface Writes {
  /** Do nothing at all unless this change is still announced: two starts may find the same dead process. */
  readonly ifPending?: string;
  readonly sightings?: readonly { readonly session: string; readonly sighting: Sighting }[];
  /** Without a key: everything the session has seen. */
  readonly forget?: readonly { readonly session: string; readonly key?: string }[];
  readonly entries?: readonly NewEntry[];
  readonly announce?: PendingChange;
  /** Before-images that a store of a fleet keeps in the same transaction as the announcement. */
  readonly images?: AnnouncedImages;
  /** Ids of announced changes that are now settled, done or not. */
  readonly settle?: readonly string[];
  readonly session?: SessionRecord;
  /** Removes the session's record as well as its sightings. */
  readonly dropSession?: string;
}

/** The bytes that a change will displace. */
export interface AnnouncedImages {
  readonly shared: readonly { readonly fingerprint: Fingerprint; readonly bytes: Uint8Array }[];
  /** Bytes that stay in the state folder of this machine: too many, or secret. */
  readonly here: readonly Fingerprint[];
}

/** What may be lost with the process: the session then has to look again. */
export type Notes = Required<Pick<Writes, 'sightings' | 'entries'>>;

/** A change matches if it matches every field that is given; without fields, all of them match. */
export interface PendingFilter {
  readonly change?: string;
  readonly owner?: string;
  /** Changes that locked one of these keys, or will write it without a lock; also a folder above it or something inside it. */
  readonly keys?: readonly string[];
  /** Only changes of files that this process can reach: of this machine, or of a workspace that machines share. */
  readonly here?: true;
}

export interface SessionFilter {
  /** Only sessions whose first root is one of these. */
  readonly roots?: readonly string[];
}

export interface EntryFilter {
  readonly session?: string | undefined;
  readonly root?: string | undefined;
  /** Entries of every workspace that is, contains or lies in one of these canonical folders. */
  readonly near?: readonly string[] | undefined;
  /** Entries with an effect on this key, or about it (`entry.key`, or root and path joined). */
  readonly key?: string | undefined;
  /** Entries that `key` would find for any of these. */
  readonly keys?: readonly string[] | undefined;
  readonly change?: string | undefined;
  readonly kinds?: readonly EntryKind[] | undefined;
  /** Both ends included. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Only entries of this chain, as they are stored, numbered within it. For verifying. */
  readonly chain?: string | undefined;
  /** Only entries that were committed between two marks of `snapshot`. */
  readonly committed?: { readonly from: string; readonly to: string };
  /** Only entries after this number; for following and for verifying in pages. */
  readonly afterSeq?: number | undefined;
  readonly beforeSeq?: number | undefined;
  readonly order?: 'newest' | 'oldest' | undefined;
  readonly limit?: number | undefined;
}
