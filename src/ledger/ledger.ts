import { AsyncLocalStorage } from 'node:async_hooks';
import { countsAsView } from '../judge/reads.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import type { NewEntry } from '../model/entry.ts';
import { unlessStoreFails } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { CallTimes } from '../model/foreign-session.ts';
import type { Policy } from '../model/policy.ts';
import type { Sighting } from '../model/sighting.ts';
import { joinWrites, type Store, type Writes } from '../store/store.ts';
import {
  EarlierSightings,
  evict,
  FetchedSightings,
  isSameView,
  RecentViews,
  sawAll,
  stubOf,
  tombstoneOf,
  withoutContext,
  withoutStates,
} from './memory.ts';
import {
  bytesSeenWhole,
  counts,
  exportSightings,
  isAdded,
  isSampled,
  licenses,
  mergeSighting,
  parseSightings,
  SAMPLE,
  sightingsByBytes,
} from './sightings.ts';

interface LedgerOptions {
  readonly store: Store;
  readonly session: string;
  readonly policy: Pick<Policy, 'maxSightings' | 'compaction' | 'ttlMs' | 'seen' | 'overwrite'>;
}

/** Compares hashes to decide whether a sighting's bytes are still current. */
type Check = (sighting: Sighting) => Promise<boolean>;

/** How many sightings passed a check, and how many failed it. */
interface Checked {
  readonly kept: number;
  readonly dropped: number;
}

/** Two views less than this far apart count as simultaneous. */
export const SAME_MOMENT_MS = 1000;

/** If this many files are deleted at once, only those that the session saw get a tombstone. */
const MANY_GONE = 1000;

/**
 * The sightings of one session. Queries the store every time, because other processes write there.
 * Only for locked files is the last answer reused. Changes through one ledger run one after the
 * other. If two ledgers of one session record views at the same time, one view may be lost. The
 * session must then read that file again.
 */
export class Ledger {
  readonly session: string;
  /** The session's current turn, if one has begun. */
  turn: string | undefined;
  /** Sightings that the session's own changes have replaced. An undo may bring their bytes back. */
  readonly earlier: EarlierSightings;
  readonly #store: Store;
  readonly #policy: LedgerOptions['policy'];
  /** Last known number of sightings in the store, without stubs and tombstones; undefined: count again. */
  #live: number | undefined;
  /** Number of new sightings recorded while the count `#live` was undefined. */
  #uncounted = 0;
  #turn: Promise<unknown> = Promise.resolve();
  /** Number of calls of `#inTurn` that are running or queued. */
  #turns = 0;
  readonly fetched: FetchedSightings;
  /** Recent views, with the times at which their answers were sent. */
  readonly views: RecentViews = new RecentViews();
  /** When the call arrived that is being judged, as a `performance.now()` time; see `asOf`. */
  judged: number | undefined;

  constructor(options: LedgerOptions) {
    this.session = options.session;
    this.#store = options.store;
    this.earlier = new EarlierSightings(options.store, options.session);
    this.#policy = options.policy;
    this.fetched = new FetchedSightings(options.store, options.session);
  }

  /** Session and turn for journal entries. */
  get author(): Pick<NewEntry, 'session' | 'turn'> {
    return this.turn === undefined ? { session: this.session } : { session: this.session, turn: this.turn };
  }

  /** The stored sighting. It may be a tombstone (deleted file) or a stub (forgotten sighting): refusals report them. */
  recall(key: string): Awaitable<Sighting | undefined> {
    const moment = arrivals.getStore() ?? this.judged;
    const found = this.fetched.recall(key);
    if (moment === undefined) return found;
    return andThen(found, (now) => (now === undefined ? undefined : this.views.knownAt(moment, now)));
  }

  /** Like `recall`, for several files in one round trip; files never seen are absent. */
  async recallMany(keys: readonly string[]): Promise<ReadonlyMap<string, Sighting>> {
    const moment = arrivals.getStore() ?? this.judged;
    const found = await this.fetched.recallMany(keys);
    if (moment === undefined) return found;
    const known = [...found.values()].flatMap((now) => this.views.knownAt(moment, now) ?? []);
    return new Map(known.map((sighting) => [sighting.key, sighting]));
  }

  /**
   * Notes the content that a running call will show, so that it counts as seen only for calls that
   * arrive after the answer. Call this before the sightings are recorded.
   */
  async willShow(sightings: readonly Sighting[], by: CallTimes): Promise<void> {
    const earlier = await this.fetched.recallMany(sightings.map(({ key }) => key));
    for (const sighting of sightings) {
      const before = earlier.get(sighting.key);
      if (!countsAsView(sighting, before, this.#policy)) continue;
      this.views.add(sighting.key, { by, before, shown: sighting });
      by.showsMore ||= !sawAll(before, sighting);
    }
  }

  /** All live sightings of the session: neither stubs (lost sightings) nor tombstones (deleted files). */
  async all(): Promise<readonly Sighting[]> {
    return (await this.#store.sightings(this.session)).filter(counts);
  }

  /**
   * Sightings of new files whose bytes the session has seen under another name, for example before
   * `git mv` or `cp`. The lines seen under that name count as seen under the new one.
   */
  async seenElsewhere(
    created: readonly { readonly key: string; readonly fingerprint: Fingerprint }[],
    atMs: number,
  ): Promise<readonly Sighting[]> {
    if (created.length === 0) return [];
    const sightingOf = sightingsByBytes(await this.all());
    return created.flatMap(({ key, fingerprint }) => sightingOf(fingerprint, key, atMs) ?? []);
  }

  /**
   * Adds a read and its entry without waiting for the store; see `Store.note`. `earlier`: the result
   * of the caller's last `recall` of this file. Returns the merged sighting.
   */
  note(next: Sighting, earlier: Sighting | undefined, entry: NewEntry): Awaitable<Sighting> {
    if (this.#isLast(next.key, earlier) && this.#hasRoom(next, earlier))
      return this.#noteOn(earlier, next, entry);
    return this.#inTurn(async () => {
      const old = await this.fetched.recall(next.key);
      if (this.#hasRoom(next, old)) return this.#noteOn(old, next, entry);
      const writes = await unlessStoreFails<Writes | undefined>(
        () => this.recordWrites([next]),
        () => undefined,
      );
      // If the store cannot count the sightings now, exceed the limit rather than lose the view.
      if (writes === undefined) return this.#noteOn(old, next, entry);
      await this.#store.record(joinWrites(writes, { entries: [entry] }));
      return mergeSighting(old, next);
    });
  }

  /** Adds views, and makes the writes in `alongside`, in one transaction. */
  record(sightings: readonly Sighting[], alongside: Writes = {}): Promise<void> {
    return this.#inTurn(async () => {
      const writes = await this.recordWrites(sightings);
      await this.#store.record(joinWrites(writes, alongside));
    });
  }

  /**
   * The writes that `record` would make, for callers with their own transaction. The caller must
   * hold the locks of the sightings' files until it has stored the writes.
   */
  async recordWrites(sightings: readonly Sighting[]): Promise<Writes> {
    const merged = new Map<string, Sighting>();
    const known = await this.fetched.recallMany([...new Set(sightings.map(({ key }) => key))]);
    let added = 0;
    for (const next of sightings) {
      const old = merged.get(next.key) ?? known.get(next.key);
      if (!countsAsView(next, old, this.#policy)) continue;
      if (isAdded(next, old)) added++;
      if (next.how !== 'read') this.earlier.keep(old);
      merged.set(next.key, mergeSighting(old, next));
    }
    const writes = this.#write([...merged.values()]);
    return added === 0 ? writes : joinWrites(await this.#makeRoom(added, merged), writes);
  }

  /** The writes that mark files and folders as deleted by this session (tombstones). */
  async tombstoneWrites(keys: readonly string[], atMs: number): Promise<Writes> {
    const seen = await this.fetched.recallMany(keys);
    for (const key of keys) {
      this.earlier.keep(seen.get(key));
      this.fetched.drop(key);
    }
    // A session keeps a limited number of tombstones. Too many new ones would push out the others.
    const noted = keys.length < MANY_GONE ? keys : keys.filter((key) => seen.has(key));
    return this.#write(
      noted.map((key) => {
        const old = seen.get(key);
        return tombstoneOf(key, atMs, old && bytesSeenWhole(old));
      }),
    );
  }

  /** The writes that copy this session's sightings to a new session. */
  async forkWrites(to: string): Promise<Writes> {
    const all = await this.#store.sightings(this.session);
    return { sightings: all.map((sighting) => ({ session: to, sighting })) };
  }

  /**
   * Replaces a file's sighting by a stub, which only says that the sighting was forgotten. Without
   * a key, deletes all sightings.
   */
  forget(key?: string): Promise<void> {
    return this.#inTurn(async () => {
      this.earlier.clear();
      if (key === undefined) await this.#store.record({ forget: [{ session: this.session }] });
      else await this.#rewrite([await this.fetched.recall(key)], (sighting) => stubOf(sighting, 'forgotten'));
    });
  }

  /**
   * Call after the model's context was summarised. With the policy `keep`, nothing changes.
   * Otherwise no lines count as shown any more. With `clear`, the hashes of the seen files are
   * dropped too.
   */
  compacted(): Promise<void> {
    const { compaction } = this.#policy;
    if (compaction === 'keep') return Promise.resolve();
    const change = compaction === 'clear' ? stubOf : withoutContext;
    return this.#inTurn(async () => {
      const all = (await this.#store.sightings(this.session)).filter(licenses);
      await this.#rewrite(all, (sighting) => withoutStates(sighting) ?? change(sighting, 'compacted'));
    });
  }

  /**
   * Call after the conversation was cut back to its state at `toMs`: drops sightings made or
   * extended later. Keeps those after `untilMs`: they come from the continued conversation. Returns
   * the number dropped.
   */
  rewound(toMs: number, untilMs: number = Number.POSITIVE_INFINITY): Promise<number> {
    return this.#inTurn(async () => {
      const all = (await this.#store.sightings(this.session)).filter(licenses);
      const cut = all.filter(({ atMs }) => atMs > toMs && atMs <= untilMs);
      await this.#rewrite(cut, (sighting) => withoutStates(sighting) ?? stubOf(sighting, 'rewound'));
      return cut.filter(counts).length;
    });
  }

  /** Drops every sighting that the check does not confirm. */
  verify(check: Check): Promise<Checked> {
    return this.#inTurn(async () => {
      const all = await this.all();
      const kept = new Set(await confirmed(all, check));
      const failed = all.filter((sighting) => !kept.has(sighting));
      await this.#rewrite(failed, (sighting) => stubOf(sighting, 'forgotten'));
      return { kept: kept.size, dropped: failed.length };
    });
  }

  /** All live sightings that have a fingerprint, as JSON text. */
  async exportJson(): Promise<string> {
    return exportSightings(this.session, await this.all());
  }

  /**
   * Imports exported sightings that the check confirms against the current bytes; drops the others.
   * Throws a Fault MISUSE for malformed text.
   */
  async importJson(text: string, check: Check): Promise<Checked> {
    const offered = parseSightings(text);
    const kept = await confirmed(offered, check);
    await this.record(kept);
    return { kept: kept.length, dropped: offered.length - kept.length };
  }

  /** True if this ledger has not changed the key since it returned `recalled`, and no change is running. */
  #isLast(key: string, recalled: Sighting | undefined): boolean {
    return this.#turns === 0 && this.fetched.isLast(key, recalled);
  }

  #noteOn(old: Sighting | undefined, next: Sighting, entry: NewEntry): Awaitable<Sighting> {
    const sighting = mergeSighting(old, next);
    this.fetched.drop(next.key);
    // If views expire, store every view, because the time counts from the last one.
    const withinMs = this.#policy.ttlMs > 0 ? 0 : SAME_MOMENT_MS;
    const sightings = isSameView(old, sighting, withinMs) ? [] : [{ session: this.session, sighting }];
    const noted = this.#store.note({ sightings, entries: [entry] });
    return noted === undefined ? sighting : noted.then(() => sighting);
  }

  /** Reserves room for a new sighting. False if sightings must first be counted or evicted. */
  #hasRoom(next: Sighting, old: Sighting | undefined): boolean {
    if (this.#policy.maxSightings === 0 || !isAdded(next, old)) return true;
    if (this.#live === undefined) return !this.#mustCount(1, [next.key]);
    if (this.#live >= this.#policy.maxSightings) return false;
    this.#live += 1;
    return true;
  }

  async #makeRoom(added: number, current: ReadonlyMap<string, Sighting>): Promise<Writes> {
    if (this.#policy.maxSightings === 0) return {};
    if (this.#live === undefined && !this.#mustCount(added, [...current.keys()])) return {};
    this.#live ??= (await this.all()).length;
    this.#live += added;
    if (this.#live <= this.#policy.maxSightings) return {};
    const all = await this.#store.sightings(this.session);
    const evicted = evict(all, { max: this.#policy.maxSightings, keep: current, added });
    this.#live = evicted.live;
    return joinWrites(this.#write(evicted.stubs), {
      forget: evicted.forgotten.map((key) => ({ session: this.session, key })),
    });
  }

  /**
   * True if sightings must be counted now. Counting reads all of them, so a short process (a hook)
   * that records only one mostly skips it. Therefore the limit may be exceeded by a tenth.
   */
  #mustCount(added: number, keys: readonly string[]): boolean {
    this.#uncounted += added;
    if (this.#uncounted >= Math.min(SAMPLE, this.#policy.maxSightings / 10)) return true;
    return keys.some(isSampled);
  }

  async #rewrite(
    sightings: readonly (Sighting | undefined)[],
    change: (sighting: Sighting) => Sighting,
  ): Promise<void> {
    this.earlier.clear();
    const changed = sightings.filter((sighting) => sighting !== undefined).map(change);
    if (changed.length > 0) await this.#store.record(this.#write(changed));
  }

  #write(sightings: readonly Sighting[]): Writes {
    if (sightings.length === 0) return {};
    return { sightings: sightings.map((sighting) => ({ session: this.session, sighting })) };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#turns === 0 ? undefined : this.#turn;
    this.#turns += 1;
    const turn = this.#take(before, work);
    this.#turn = turn;
    return turn;
  }

  async #take<T>(before: Promise<unknown> | undefined, work: () => Promise<T>): Promise<T> {
    try {
      // Ignore an error of the change before this one: its own caller handles it.
      if (before !== undefined) await before.catch(() => undefined);
      return await work();
    } catch (error) {
      // Count again next time: it is unknown what was stored.
      this.#live = undefined;
      throw error;
    } finally {
      this.#turns -= 1;
      this.fetched.clear();
    }
  }
}

async function confirmed(sightings: readonly Sighting[], check: Check): Promise<Sighting[]> {
  const kept: Sighting[] = [];
  for (const sighting of sightings) if (await check(sighting)) kept.push(sighting);
  return kept;
}

/** The arrival time of the call that is judged, if another call of its session is judged meanwhile. See `asOf`. */
const arrivals = new AsyncLocalStorage<number>();

/**
 * Runs `work`, which judges a call. Meanwhile `recall` returns only what was shown before that call
 * arrived. If no other call is being judged, `ledger.judged` holds the arrival time, which costs
 * less than an asynchronous context. Lookups outside `work` then use it too and may miss new views.
 */
export function asOf<T>(ledger: Ledger, times: CallTimes | undefined, work: () => Promise<T>): Promise<T> {
  if (times === undefined) return work();
  if (ledger.judged !== undefined) return arrivals.run(times.arrivedAt, work);
  ledger.judged = times.arrivedAt;
  return work().finally(() => {
    ledger.judged = undefined;
  });
}

/** All live sightings of a file or folder and of everything below it. */
export async function sightingsBelow(ledger: Ledger, key: string): Promise<readonly Sighting[]> {
  const prefix = `${key}/`;
  return (await ledger.all()).filter((each) => each.key === key || each.key.startsWith(prefix));
}
