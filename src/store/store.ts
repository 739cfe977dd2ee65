import { setImmediate } from 'node:timers/promises';
import type {
  ChangeEntry,
  EntryKind,
  EntryOf,
  NewChangeEntry,
  NewEntry,
  PendingChange,
} from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Mark, Seen, View } from '../model/view.ts';
import type { Images } from './images.ts';

/**
 * Stores what each session has read (sightings) and the journal. Each `record` is one transaction.
 * Any failure is a Fault STORE_FAILED, never an empty answer, which would look as if nothing were
 * stored.
 */
export interface Store {
  /** The URL of this store, such as `memory:` or `sqlite:/path`. */
  readonly url: string;
  /** Events during opening that users must learn of, such as a damaged database that was set aside. */
  readonly warnings: readonly string[];
  /**
   * Returns what this session was shown of a file; undefined if this process would have to query a
   * server. A network store may answer from memory and miss what other processes recorded in the
   * last seconds: a read destroys nothing.
   */
  recall(session: string, key: string): Seen | undefined;
  /**
   * Returns what a session was shown of several files, in one round trip. Never answers from memory
   * alone, because changes are judged by the result. Files that the session has not seen are
   * absent.
   */
  recallMany(session: string, keys: readonly string[]): Promise<ReadonlyMap<string, Seen>>;
  /** Looks up everything with which a change of locked files begins, in one round trip. Without a session, nothing was seen. */
  atLocked(keys: readonly string[], session?: string): Promise<AtLocked>;
  /** Returns what the session knows of every file that it has seen, including losses. */
  sightings(session: string): Promise<readonly Sighting[]>;
  /** Writes all of `writes` or nothing. Numbers the entries and chains them by their hashes. */
  record(writes: Writes): Promise<void>;
  /**
   * Records what a session was shown, usually without waiting until it is stored. Queries of this
   * store include the notes at once; other processes see them within milliseconds. If the process
   * dies before that, the notes are lost. Returns a promise if the caller must wait, for example
   * because too many notes are not stored yet; otherwise undefined.
   */
  note(notes: Notes): Promise<void> | undefined;
  /** Matching entries, newest first unless `order` differs. */
  entries<K extends EntryKind = EntryKind>(filter: EntryFilter<K>): Promise<readonly EntryOf<K>[]>;
  /**
   * The newest finished change that touched each path, made by any session, in one round trip. Paths
   * without a recorded change are absent.
   */
  lastChanges(keys: readonly string[]): Promise<ReadonlyMap<string, ChangeEntry>>;
  /**
   * The changes recorded since a time, newest first, among the 5,000 newest entries. Synchronous,
   * because every read and change asks which sessions work on its file. A network store answers from
   * memory, so changes of other processes may be seconds late.
   */
  changesSince(asked: RecentChanges): readonly NewChangeEntry[];
  /**
   * Changes that are announced and not finished. Every change queries the pending changes of its
   * own files, so a store must fetch only what matches.
   */
  pending(filter?: PendingFilter): Promise<readonly PendingChange[]>;
  session(id: string): Promise<SessionRecord | undefined>;
  /** Session records, most recently used first. `roots`: only sessions whose first root is one of these. */
  sessions(filter?: { readonly roots?: readonly string[] }): Promise<readonly SessionRecord[]>;
  /** The first and last link of the journal's hash chain, and the store's size. */
  state(): Promise<StoreState>;
  /**
   * A mark of the transactions committed so far, for `EntryFilter.committed`. Present if a later
   * entry may become visible before an earlier one. A program that follows the journal by entry
   * numbers would then miss entries.
   */
  readonly snapshot?: () => Promise<string>;
  /**
   * Checks some of the entries after `previous`, up to the number `throughSeq`: they must continue
   * the hash chain. Returns the last link, or the first entry that is not as it was written.
   */
  checkLinks(previous: ChainLink, page: LinkPage): Promise<ChainLink | BrokenLink>;
  /**
   * Removes the oldest entries up to and including a number. The chain then begins with the next
   * entry. Also removes views that later ones of the same file have replaced. Returns how many
   * entries were removed.
   */
  prune(throughSeq: number): Promise<number>;
  /** Earlier contents of files. Present if the store is a database of this machine. */
  readonly images?: Images;
  /** Closes the store. A second call is harmless; any other call afterwards is a Fault MISUSE. */
  close(): Promise<void>;
}

/** The newest finished change that touched this path, made by any session. */
export async function lastChange(
  store: Pick<Store, 'lastChanges'>,
  key: string,
): Promise<ChangeEntry | undefined> {
  return (await store.lastChanges([key])).get(key);
}

/** `Store.changesSince` searches only this many of the newest entries. */
export const RECENT_ENTRIES = 5000;

/** A look-up of a file's views returns this many of the newest. Older versions of a file no longer count as seen. */
export const VIEWS_OF_FILE: number = 16;

/** `Store.checkLinks` checks at most this many entries in one call. */
export const LINKS_AT_ONCE: number = 2000;

/** Locked files, as a store knows them. */
export interface AtLocked {
  /** Changes of the files that are announced and not finished, as far as this process can reach them. */
  readonly left: readonly PendingChange[];
  /** The views of the session on the files, never from memory alone. Files that it has not seen are absent. */
  readonly seen: ReadonlyMap<string, Seen>;
}

/** A query for recent changes. */
export interface RecentChanges {
  readonly sinceMs: number;
  /** Only changes that touched one of these paths. Called only if there are changes. */
  readonly keys?: () => readonly string[];
  /** Only changes of other sessions than this one. */
  readonly notBy?: string;
}

/** A link of the hash chain: an entry's number, and the hash that the next entry builds on. */
export interface ChainLink {
  readonly seq: number;
  readonly hash: string;
}

/** The part of a hash chain to check. */
interface LinkPage {
  readonly throughSeq: number;
  /** The chain, if every writer has its own. */
  readonly chain?: string | undefined;
  /** Hashes of entries, by number, that are recorded elsewhere. */
  readonly known?: ReadonlyMap<number, string> | undefined;
}

/** `removed`: the entry with this number is missing. `altered`: it is not what was written there. */
export interface BrokenLink {
  readonly seq: number;
  readonly problem: 'removed' | 'altered';
}

/** One hash chain of a journal with several writers. Each writer has its own chain. */
interface ChainState {
  readonly chain: string;
  readonly machine: string;
  /** The chain's newest entry, numbered within the chain. */
  readonly head: ChainLink;
  readonly checkpoint: ChainLink;
  /**
   * JSON text that names other chains and their ends at the time this chain began. The first link
   * builds on the hash of this text.
   */
  readonly known: string;
}

export interface StoreState {
  /**
   * The hash chains, if every writer has its own. In that case, `head` and `checkpoint` below belong
   * to no chain and only give the range of entry numbers.
   */
  readonly chains?: readonly ChainState[];
  /** The last pruned entry; number 0 and 64 zeros if none was pruned. */
  readonly checkpoint: ChainLink;
  /**
   * The newest entry ever written. It is stored separately from the entries, so that a loss of the
   * newest entries is detected.
   */
  readonly head: ChainLink;
  /**
   * The newest entry according to a file outside the store; undefined if there is no such file. The
   * witness may be older than `head`. If it is newer, entries were lost or removed.
   */
  readonly witness: ChainLink | undefined;
  /** Size on disk; 0 for a store in memory. */
  readonly bytes: number;
  /**
   * False if the database user of a shared store has no right to remove entries; otherwise absent.
   */
  readonly mayPrune?: false;
}

/**
 * The writes of one transaction. A store first checks `ifPending`, then drops and forgets data,
 * then writes. So one call can forget all sightings of a session and store a new one.
 */
export interface Writes {
  /**
   * Write nothing unless this change is still unfinished. Two starting processes may find the same
   * change of a dead process, and only one may finish it.
   */
  readonly ifPending?: string;
  /** Views to add, oldest first. */
  readonly views?: readonly { readonly session: string; readonly view: View }[];
  /** Losses of sessions: the views that were added before count no more. */
  readonly marks?: readonly { readonly session: string; readonly mark: Omit<Mark, 'n'> }[];
  /** Sessions whose views are removed. */
  readonly forget?: readonly { readonly session: string }[];
  readonly entries?: readonly NewEntry[];
  readonly announce?: PendingChange;
  /**
   * The earlier contents of the files that the change in `announce` will replace. A store that
   * several machines share keeps them in the same transaction.
   */
  readonly images?: AnnouncedImages;
  /** Ids of changes in progress that are now finished: made, or given up. */
  readonly settle?: readonly string[];
  readonly session?: SessionRecord;
  /** Removes the session's record, and the records of what it has read. */
  readonly dropSession?: string;
}

/** The contents that a change will replace or delete. */
export interface AnnouncedImages {
  readonly shared: readonly { readonly fingerprint: Fingerprint; readonly bytes: Uint8Array }[];
  /** Bytes that stay in the state folder of this machine, because they are too large or secret. */
  readonly here: readonly Fingerprint[];
}

/** Records of reads. They may be lost if the process dies: the session then has to read again. */
export type Notes = Required<Pick<Writes, 'views' | 'entries'>>;

/** A change matches if it matches every given field. Without fields, every change matches. */
export interface PendingFilter {
  readonly change?: string;
  readonly owner?: string;
  /**
   * Only changes that concern one of these paths, a folder above one, or something inside one. A
   * change concerns the files that it locked, or without a lock those that it will write.
   */
  readonly keys?: readonly string[];
  /**
   * Only changes of files that this process can reach: files of this machine or of a shared
   * workspace.
   */
  readonly here?: true;
}

export interface EntryFilter<K extends EntryKind = EntryKind> {
  readonly session?: string | undefined;
  readonly root?: string | undefined;
  /** Entries of every workspace that equals, contains or is inside one of these canonical folders. */
  readonly near?: readonly string[] | undefined;
  /**
   * Entries that changed the file with this key, or are about it (`entry.key`, or root and path
   * joined).
   */
  readonly key?: string | undefined;
  /** Entries that the field `key` would select for any of these keys. */
  readonly keys?: readonly string[] | undefined;
  readonly change?: string | undefined;
  /** Entries of changes whose ids begin with this text. */
  readonly changePrefix?: string | undefined;
  readonly kinds?: readonly K[] | undefined;
  /** Time range, both ends included. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /**
   * Only entries of this hash chain. They have their numbers within the chain and are not converted
   * to this machine's paths, so that their hashes can be verified.
   */
  readonly chain?: string | undefined;
  /** Only entries committed between two marks of `snapshot`. */
  readonly committed?: { readonly from: string; readonly to: string };
  /**
   * Only entries after this number. For programs that follow the journal, and for verifying it in
   * pages.
   */
  readonly afterSeq?: number | undefined;
  readonly beforeSeq?: number | undefined;
  readonly order?: 'newest' | 'oldest' | undefined;
  readonly limit?: number | undefined;
}

/**
 * Joins several writes into one transaction. Concatenates lists; for other fields, the last one
 * counts. A store forgets before it writes, so no part may forget a sighting that an earlier part
 * writes.
 */
export function joinWrites(...parts: readonly Writes[]): Writes {
  const given = parts.filter(hasAny);
  // Fast path for nearly every call: at most one part is not empty.
  if (given.length < 2) return given[0] ?? {};
  const joined: { -readonly [K in keyof Writes]: Writes[K] } = {};
  for (const part of given) {
    const { views, marks, forget, entries, settle } = joined;
    Object.assign(joined, part);
    if (views !== undefined) joined.views = both(views, part.views);
    if (marks !== undefined) joined.marks = both(marks, part.marks);
    if (forget !== undefined) joined.forget = both(forget, part.forget);
    if (entries !== undefined) joined.entries = both(entries, part.entries);
    if (settle !== undefined) joined.settle = both(settle, part.settle);
  }
  return joined;
}

function both<T>(first: readonly T[], second: readonly T[] | undefined): readonly T[] {
  return second === undefined ? first : [...first, ...second];
}

/** True if these writes have a part. */
export function hasAny(writes: Writes): boolean {
  for (const _ in writes) return true;
  return false;
}

/** Entries in one answer of a database server. */
const REMOTE_PAGE = 1000;
/** Entries in one answer of a local store. Fewer, because no other work can run until it has answered. */
const LOCAL_PAGE = 250;

/**
 * Yields all matching entries, fetched in pages, so that a long journal is never in memory as a
 * whole. Between two pages other work gets a turn, such as the answer to a user's click.
 */
export async function* walkEntries<K extends EntryKind = EntryKind>(
  store: Store,
  filter: EntryFilter<K>,
): AsyncGenerator<EntryOf<K>> {
  const most = store.snapshot === undefined ? LOCAL_PAGE : REMOTE_PAGE;
  let left = filter.limit ?? Infinity;
  let page = filter;
  while (left > 0) {
    const wanted = Math.min(most, left);
    const entries = await store.entries({ ...page, limit: wanted });
    yield* entries;
    const last = entries.at(-1);
    if (last === undefined || entries.length < wanted) return;
    await setImmediate();
    left -= entries.length;
    page = filter.order === 'oldest' ? { ...page, afterSeq: last.seq } : { ...page, beforeSeq: last.seq };
  }
}

/**
 * Maximum number of queries in progress. A shared store may have thousands of sessions. If all
 * queries were sent together, the last ones would exceed their deadlines.
 */
const AT_ONCE = 200;

/**
 * Runs the work for all items, up to `AT_ONCE` at a time. If the store is on another machine,
 * queries that are sent together take only one round trip.
 */
export async function inSteps<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(work))));
  return results;
}
