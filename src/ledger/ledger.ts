import { isStub } from '../judge/knowledge.ts';
import type { Awaitable } from '../model/awaitable.ts';
import type { NewEntry } from '../model/entry.ts';
import { sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import type { Policy } from '../model/policy.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Store, Writes } from '../store/store.ts';
import { EarlierSightings } from './earlier-sightings.ts';
import { evict } from './evict.ts';
import { FetchedSightings } from './fetched-sightings.ts';
import { joinWrites } from './join-writes.ts';
import { mergeSighting } from './merge-sighting.ts';
import { RecentViews } from './recent-views.ts';
import { exportSightings, parseSightings } from './sighting-json.ts';
import { stubOf, tombstoneOf, withoutContext } from './stub.ts';

export interface LedgerOptions {
  readonly store: Store;
  readonly session: string;
  readonly policy: Pick<Policy, 'maxSightings' | 'compaction' | 'ttlMs'>;
}

/** Asks the world whether a sighting's bytes are still there, by hash. */
export type Check = (sighting: Sighting) => Promise<boolean>;

/** How many sightings passed a check, and how many were dropped. */
export interface Checked {
  readonly kept: number;
  readonly dropped: number;
}

/** So much earlier a file may count as the one seen longest ago. */
export const SAME_MOMENT_MS = 1000;

/** One in this many keys is in the sample. */
export const SAMPLE = 64;

/**
 * What one session has seen. It remembers nothing itself and asks the store every time, for other processes write there too.
 * Changes through one ledger happen one after the other, so two views of one file recorded at once both count; two ledgers of
 * one session do not wait for each other, and of two views recorded in the same instant one may then have to be seen again.
 */
export class Ledger {
  readonly session: string;
  /** The present turn of the session, if one has begun. */
  turn: string | undefined;
  /** What own changes have replaced, for an undo. */
  readonly earlier: EarlierSightings;
  readonly #store: Store;
  readonly #policy: LedgerOptions['policy'];
  /** Sightings in the store that count, as far as this ledger knows; undefined = to be counted. */
  #live: number | undefined;
  /** New ones recorded while they were not counted. */
  #uncounted = 0;
  #turn: Promise<unknown> = Promise.resolve();
  /** Changes that are waiting for their turn, or at it. */
  #turns = 0;
  readonly fetched: FetchedSightings;
  /** Views whose answers may have gone out after other calls had arrived. */
  readonly views: RecentViews = new RecentViews();

  constructor(options: LedgerOptions) {
    this.session = options.session;
    this.#store = options.store;
    this.earlier = new EarlierSightings(options.store, options.session);
    this.#policy = options.policy;
    this.fetched = new FetchedSightings(options.store, options.session);
  }

  /** Session and turn, for the entries of the journal. */
  get author(): Pick<NewEntry, 'session' | 'turn'> {
    return this.turn === undefined ? { session: this.session } : { session: this.session, turn: this.turn };
  }

  /** As stored: tombstones and stubs included, for a refusal says what they know. */
  recall(key: string): Awaitable<Sighting | undefined> {
    return this.fetched.recall(key);
  }

  /** Like `recall` for several files, in one round trip; files that were never seen are absent. */
  recallMany(keys: readonly string[]): Promise<ReadonlyMap<string, Sighting>> {
    return this.fetched.recallMany(keys);
  }

  /** Every sighting that counts. */
  async all(): Promise<readonly Sighting[]> {
    return (await this.#store.sightings(this.session)).filter(counts);
  }

  /**
   * Adds a view that nobody waits for, with its line in the journal; see `Store.note`. Returns what is known with it, to
   * one who recalled `earlier` before.
   */
  note(next: Sighting, earlier: Sighting | undefined, entry: NewEntry): Awaitable<Sighting> {
    if (this.#isLast(next.key, earlier) && this.#hasRoom(next, earlier))
      return this.#noteOn(earlier, next, entry);
    return this.#inTurn(async () => {
      const old = await this.recall(next.key);
      if (this.#hasRoom(next, old)) return this.#noteOn(old, next, entry);
      await this.#store.record(joinWrites(await this.recordWrites([next]), { entries: [entry] }));
      return mergeSighting(old, next);
    });
  }

  /** Adds views to what is known, together with `alongside` in one transaction. */
  record(sightings: readonly Sighting[], alongside: Writes = {}): Promise<void> {
    return this.#inTurn(async () => {
      const writes = await this.recordWrites(sightings);
      await this.#store.record(joinWrites(writes, alongside));
    });
  }

  /**
   * The writes that `record` would make, for callers that put them into a transaction of their own. Between asking and
   * writing nobody else may record for these files: hold their lock.
   */
  async recordWrites(sightings: readonly Sighting[]): Promise<Writes> {
    const merged = new Map<string, Sighting>();
    const known = await this.recallMany([...new Set(sightings.map(({ key }) => key))]);
    let added = 0;
    for (const next of sightings) {
      const old = merged.get(next.key) ?? known.get(next.key);
      if (isAdded(next, old)) added++;
      if (next.how !== 'read') this.earlier.keep(old);
      merged.set(next.key, mergeSighting(old, next));
    }
    const writes = this.#write([...merged.values()]);
    return added === 0 ? writes : joinWrites(await this.#makeRoom(added, merged), writes);
  }

  /** The writes that leave tombstones: this session deleted these files and folders. */
  async tombstoneWrites(keys: readonly string[], atMs: number): Promise<Writes> {
    const seen = await this.recallMany(keys);
    for (const key of keys) {
      this.earlier.keep(seen.get(key));
      this.fetched.drop(key);
    }
    return this.#write(keys.map((key) => tombstoneOf(key, atMs)));
  }

  /** The writes that let another session begin with what this one has seen. */
  async forkWrites(to: string): Promise<Writes> {
    const all = await this.#store.sightings(this.session);
    return { sightings: all.map((sighting) => ({ session: to, sighting })) };
  }

  /** Forgets one file, leaving only the word that it was forgotten; without a key, everything without a trace. */
  forget(key?: string): Promise<void> {
    return this.#inTurn(async () => {
      this.earlier.clear();
      if (key === undefined) await this.#store.record({ forget: [{ session: this.session }] });
      else await this.#rewrite([await this.recall(key)], (sighting) => stubOf(sighting, 'forgotten'));
    });
  }

  /** The model's context was summarised: what was in it is gone, the baseline only if the policy says so. */
  compacted(): Promise<void> {
    const { compaction } = this.#policy;
    if (compaction === 'keep') return Promise.resolve();
    const change = compaction === 'clear' ? stubOf : withoutContext;
    return this.#inTurn(async () =>
      this.#rewrite(await this.all(), (sighting) => change(sighting, 'compacted')),
    );
  }

  /**
   * The conversation was cut back to a moment: what was seen or added to later no longer counts. With `untilMs`, only what was
   * seen up to then: the conversation has gone on since. Returns how many sightings were dropped.
   */
  rewound(toMs: number, untilMs: number = Number.POSITIVE_INFINITY): Promise<number> {
    return this.#inTurn(async () => {
      const cut = (await this.all()).filter(({ atMs }) => atMs > toMs && atMs <= untilMs);
      await this.#rewrite(cut, (sighting) => stubOf(sighting, 'rewound'));
      return cut.length;
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

  /** Every sighting with a baseline, as JSON text. */
  async exportJson(): Promise<string> {
    return exportSightings(this.session, await this.all());
  }

  /**
   * Takes in exported sightings that the check confirms against the bytes there now; the others are dropped, never trusted.
   * Text of another shape is a Fault MISUSE.
   */
  async importJson(text: string, check: Check): Promise<Checked> {
    const offered = parseSightings(text);
    const kept = await confirmed(offered, check);
    await this.record(kept);
    return { kept: kept.length, dropped: offered.length - kept.length };
  }

  /** Nothing was changed through this ledger since that was recalled. */
  #isLast(key: string, recalled: Sighting | undefined): boolean {
    return this.#turns === 0 && this.fetched.isLast(key, recalled);
  }

  #noteOn(old: Sighting | undefined, next: Sighting, entry: NewEntry): Awaitable<Sighting> {
    const sighting = mergeSighting(old, next);
    this.fetched.drop(next.key);
    // A time to live counts from the last view, however soon after another it came.
    const withinMs = this.#policy.ttlMs > 0 ? 0 : SAME_MOMENT_MS;
    const sightings = isSameView(old, sighting, withinMs) ? [] : [{ session: this.session, sighting }];
    const noted = this.#store.note({ sightings, entries: [entry] });
    return noted === undefined ? sighting : noted.then(() => sighting);
  }

  /** Takes the room if it is there without counting or evicting anything. */
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

  /** Counting reads every sighting; a process that records one (a hook) need not each time, the bound is soft by a tenth. */
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
      // A failed turn is its caller's to handle.
      if (before !== undefined) await before.catch(() => undefined);
      return await work();
    } catch (error) {
      // The next one recounts, for nobody knows what was stored.
      this.#live = undefined;
      throw error;
    } finally {
      this.#turns -= 1;
      this.fetched.clear();
    }
  }
}

function counts(sighting: Sighting): boolean {
  return sighting.tombstone !== true && !isStub(sighting);
}

/** One more that counts. */
function isAdded(next: Sighting, old: Sighting | undefined): boolean {
  return counts(next) && !(old !== undefined && counts(old));
}

async function confirmed(sightings: readonly Sighting[], check: Check): Promise<Sighting[]> {
  const kept: Sighting[] = [];
  for (const sighting of sightings) if (await check(sighting)) kept.push(sighting);
  return kept;
}

/** Does a whole view only repeat what was known less than so long ago? Then it need not be stored again; most second reads are such. */
export function isSameView(old: Sighting | undefined, next: Sighting, withinMs: number): boolean {
  return (
    old !== undefined &&
    next.atMs - old.atMs < withinMs &&
    old.coverage.kind === 'whole' &&
    next.coverage.kind === 'whole' &&
    old.how === next.how &&
    old.flags === next.flags &&
    old.racy === next.racy &&
    old.totalLines === next.totalLines &&
    old.refusedContent === next.refusedContent &&
    old.heldBack === undefined &&
    hasSameBytes(old, next)
  );
}

function hasSameBytes(old: Sighting, next: Sighting): boolean {
  if (old.fingerprint === undefined || next.fingerprint === undefined) return false;
  if (old.stamp === undefined || next.stamp === undefined) return false;
  return sameFingerprint(old.fingerprint, next.fingerprint) && sameStamp(old.stamp, next.stamp);
}

/**
 * Is this key in a fixed sample? The same keys always are, in every process, so work that many short processes share is
 * done by some of them without any of them keeping count.
 */
export function isSampled(key: string): boolean {
  let sum = 0;
  for (let i = 0; i < key.length; i++) sum = (Math.imul(sum, 31) + key.charCodeAt(i)) | 0;
  // The low bits of such a sum follow the last characters alone; fold the high ones in.
  return ((sum ^ (sum >>> 16)) & (SAMPLE - 1)) === 0;
}
