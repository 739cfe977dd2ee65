import { afterView, isSameView, sawAll } from '../judge/join-views.ts';
import { countsAsView, knownOf, stubOf, tombstoneOf, wholeViewOf } from '../judge/known.ts';
import type { ClientCall } from '../model/call.ts';
import type { NewEntry } from '../model/entry.ts';
import { mustBeOfStore, unlessStoreFails } from '../model/fault.ts';
import { type Fingerprint, sameFingerprint } from '../model/fingerprint.ts';
import { isWithin } from '../model/path.ts';
import type { Policy } from '../model/policy.ts';
import type { Sighting } from '../model/sighting.ts';
import { NEVER_SEEN, type Seen } from '../model/view.ts';
import { Work } from '../model/waiting.ts';
import { hasAny, joinWrites, type Store, type Writes } from '../store/store.ts';
import {
  type Check,
  type Checked,
  confirmed,
  counts,
  exportSightings,
  isSampled,
  licenses,
  parseSightings,
  SAMPLE,
  sightingsByBytes,
  stored,
} from './sightings.ts';

interface KnowledgeOptions {
  readonly store: Store;
  readonly session: string;
  readonly policy: Pick<Policy, 'maxSightings' | 'compaction' | 'ttlMs' | 'seen' | 'overwrite'>;
}

/** Two views less than this far apart count as simultaneous. */
export const SAME_MOMENT_MS = 1000;

/** If this many files are deleted at once, only those that the session saw get a tombstone. */
const MANY_GONE = 1000;

/**
 * A session's knowledge for one of its calls: only what was shown before the call arrived. Without
 * a call: everything. Views are only added, so several processes may add views of one session at
 * the same time.
 */
export class Knowledge {
  readonly session: string;
  /** The call that asks, and whose answer shows what is recorded with `show`. */
  readonly call: ClientCall | undefined;
  readonly #options: KnowledgeOptions;
  readonly #store: Store;
  readonly #state: SessionState;
  /** The store's answers for files that the call has locked, so that each is queried once. */
  readonly #held = new Map<string, Seen>();
  /** The lines of own changes that count only when the call is answered; see `tells`. */
  readonly #untold = new Map<string, Partial<Sighting> | undefined>();

  constructor(options: KnowledgeOptions, call?: ClientCall, state?: SessionState) {
    this.#options = options;
    this.#store = options.store;
    this.#state = state ?? new SessionState(new Room(options.policy, () => this.all()));
    this.session = options.session;
    this.call = call;
  }

  /** The session's knowledge for one call. */
  during(call: ClientCall | undefined): Knowledge {
    return call === undefined ? this : new Knowledge(this.#options, call, this.#state);
  }

  /** The session's current turn, if one has begun. */
  get turn(): string | undefined {
    return this.#state.turn;
  }

  set turn(turn: string | undefined) {
    this.#state.turn = turn;
  }

  /** Session and turn for journal entries. */
  get author(): Pick<NewEntry, 'session' | 'turn'> {
    const { session, turn } = this;
    return turn === undefined ? { session } : { session, turn };
  }

  /**
   * The session's knowledge. It may be a tombstone (deleted file) or a stub (forgotten sighting):
   * refusals report them.
   */
  async recall(key: string): Promise<Sighting | undefined> {
    const seen = this.#held.get(key) ?? this.#store.recall(this.session, key);
    return knownOf(seen ?? (await this.#asked(key)), this.call?.arrivedAt);
  }

  /** Like `recall`, for a file that the caller has locked. Undefined if it is not locked. */
  recallLocked(key: string): { readonly sighting: Sighting | undefined } | undefined {
    const held = this.#held.get(key);
    return held && { sighting: knownOf(held, this.call?.arrivedAt) };
  }

  /** Like `recall`, without waiting. `later`: the store has no answer at hand, so call `recall`. */
  recallNow(key: string): Sighting | 'later' | undefined {
    const seen = this.#held.get(key) ?? this.#store.recall(this.session, key);
    return seen === undefined ? 'later' : knownOf(seen, this.call?.arrivedAt);
  }

  /** Queries the store about a file for which it has no answer at hand. */
  async #asked(key: string): Promise<Seen | undefined> {
    return (await this.#store.recallMany(this.session, [key])).get(key);
  }

  /** Like `recall`, for several files in one round trip; files never seen are absent. */
  async recallMany(keys: readonly string[]): Promise<ReadonlyMap<string, Sighting>> {
    const known = new Map<string, Sighting>();
    for (const [key, seen] of await this.#seen(keys)) {
      const sighting = knownOf(seen, this.call?.arrivedAt);
      if (sighting !== undefined) known.set(key, sighting);
    }
    return known;
  }

  /**
   * Keeps what the session was shown of files that the caller has locked, and answers from it until
   * the returned function is called. Call that function before releasing the locks.
   */
  hold(keys: readonly string[], seen: ReadonlyMap<string, Seen>): () => void {
    for (const key of keys) this.#held.set(key, seen.get(key) ?? NEVER_SEEN);
    return () => {
      for (const key of keys) this.#held.delete(key);
    };
  }

  /** Asks the store again, also for locked files: another process of the session may have read a file. */
  lookAgain(): void {
    this.#held.clear();
  }

  async #seen(keys: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
    const unknown = this.#held.size === 0 ? keys : keys.filter((key) => !this.#held.has(key));
    const found = unknown.length === 0 ? undefined : await this.#store.recallMany(this.session, unknown);
    if (this.#held.size === 0) return found ?? new Map();
    const all = new Map(found);
    for (const key of keys) {
      const held = this.#held.get(key);
      if (held !== undefined) all.set(key, held);
    }
    return all;
  }

  /** All live sightings of the session: neither stubs (lost sightings) nor tombstones (deleted files). */
  async all(): Promise<readonly Sighting[]> {
    return (await this.#store.sightings(this.session)).filter(counts);
  }

  /** All live sightings of a file or folder and of everything below it. */
  async below(key: string): Promise<readonly Sighting[]> {
    return (await this.all()).filter((each) => isWithin(each.key, key));
  }

  /** The session's view of a file with these bytes, if it saw them whole and has not lost that view. */
  async wholeView(key: string, fingerprint: Fingerprint): Promise<Sighting | undefined> {
    const isWanted = (seen: Sighting): boolean =>
      seen.how !== 'listing' &&
      seen.fingerprint !== undefined &&
      sameFingerprint(seen.fingerprint, fingerprint);
    return wholeViewOf(this.#store.recall(this.session, key) ?? (await this.#asked(key)), isWanted);
  }

  /** The newest full listing of a folder that the session has not lost. */
  async listing(key: string): Promise<Sighting | undefined> {
    return wholeViewOf(
      this.#store.recall(this.session, key) ?? (await this.#asked(key)),
      ({ how }) => how === 'listing',
    );
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
   * Adds a view that the answer of the call will show, and its journal entry, without waiting for
   * the store; see `Store.note`. `earlier` is what the caller knew when the call arrived. Returns
   * what the session will know.
   */
  note(next: Sighting, earlier: Sighting | undefined, entry: NewEntry): Sighting | Promise<Sighting> {
    const { call } = this;
    if (call === undefined || this.#state.lostAt >= call.arrivedAt)
      return this.#stillKnown(next.key).then((old) => this.#noted(next, old, entry));
    return this.#noted(next, earlier, entry);
  }

  /** `evicted`: what is forgotten for the view; undefined if that is not decided yet. */
  #noted(
    next: Sighting,
    old: Sighting | undefined,
    entry: NewEntry,
    evicted?: readonly StoredView[],
  ): Sighting | Promise<Sighting> {
    const { call } = this;
    const known = afterView(old, next);
    if (evicted === undefined && isAdded(known, old)) {
      const evicting = this.#state.room.for([{ next: known, old }]);
      // If the store cannot count the files now, exceed the limit rather than lose the view.
      if (evicting !== undefined)
        return evicting
          .catch(noneIfStoreFails)
          .then((gone) => this.#noted(next, old, entry, this.#evictedRows(gone)));
    }
    const isRepeated = isSameView(old, known, this.#options.policy.ttlMs > 0 ? 0 : SAME_MOMENT_MS);
    const now = isRepeated || call !== undefined ? [] : [this.#row(known)];
    const views = evicted === undefined ? now : [...evicted, ...now];
    const noted = this.#store.note({ views, entries: [entry] });
    const shown = (): Sighting => {
      if (call !== undefined && !sawAll(old, next)) call.showsMore = true;
      if (call !== undefined && !isRepeated) this.#noteAtAnswer(call, known, next);
      return known;
    };
    return noted === undefined ? shown() : noted.then(shown);
  }

  /** The rest of a sighting, which the session may have lost since it was recalled. */
  #stillKnown(key: string): Promise<Sighting | undefined> {
    return unlessStoreFails(
      () => this.recall(key),
      () => undefined,
    );
  }

  /**
   * Adds views that the answer of the call will show, and makes the writes in `alongside` at once.
   * Returns what the session will know.
   */
  async show(sightings: readonly Sighting[], alongside: Writes = {}): Promise<readonly Sighting[]> {
    const { call } = this;
    const earlier = await this.recallMany(sightings.map(({ key }) => key));
    const counting = sightings.filter((next) =>
      countsAsView(next, earlier.get(next.key), this.#options.policy),
    );
    const known = counting.map((next) => afterView(earlier.get(next.key), next));
    if (call === undefined) {
      await this.record(sightings, alongside);
      return known;
    }
    const evicted = await this.#state.room.for(known.map((next) => ({ next, old: earlier.get(next.key) })));
    for (const [index, next] of counting.entries()) {
      if (!sawAll(earlier.get(next.key), next)) call.showsMore = true;
      this.#noteAtAnswer(call, known[index] ?? next, next);
    }
    if (evicted !== undefined) await this.#store.record({ views: this.#evictedRows(evicted) });
    if (hasAny(alongside)) await this.#store.record(alongside);
    return known;
  }

  /**
   * Adds a view when the call is answered. If the session has lost views until then, the view holds
   * nothing of them.
   */
  #noteAtAnswer(call: ClientCall, known: Sighting, next: Sighting): void {
    const { lostAt } = this.#state;
    call.whenAnswered((since) => {
      const view = this.#row(this.#state.lostAt === lostAt ? known : next, since);
      // Ignore a failure: the answer is on its way, and the file then counts as unread.
      void this.#store.note({ views: [view], entries: [] })?.catch(() => undefined);
    });
  }

  /** Until the call is answered, its change of this file counts with these fields; undefined: not at all. */
  tells(key: string, untold: Partial<Sighting> | undefined): void {
    if (this.call !== undefined) this.#untold.set(key, untold);
  }

  /**
   * Adds views that count for every later call, and tombstones of the files in `gone`, which this
   * session knows to be deleted. Makes the writes in `alongside` in the same transaction.
   */
  async record(
    sightings: readonly Sighting[],
    alongside: Writes = {},
    gone: Gone = NONE_GONE,
  ): Promise<void> {
    const { room, recording } = this.#state;
    recording.begin();
    try {
      const seen = sightings.map(({ key }) => key);
      const isMany = gone.keys.length >= MANY_GONE;
      const keys = isMany ? [...seen, ...gone.keys] : seen;
      const known = this.#heldAmong(keys) ?? new Map(await this.recallMany(keys));
      const lost = isMany ? gone.keys.filter((key) => known.has(key)) : gone.keys;
      const { views, added } = this.#viewsOf(sightings, known);
      const evicting = room.for(added);
      const evicted = evicting === undefined ? [] : this.#evictedRows(await evicting);
      const all = [...evicted, ...views, ...this.#tombstones({ ...gone, keys: lost })];
      await this.#store.record(all.length === 0 ? alongside : joinWrites({ views: all }, alongside));
    } catch (error) {
      room.forget();
      throw error;
    } finally {
      recording.end();
    }
  }

  /** The session's knowledge of these files, if all of them are locked. */
  #heldAmong(keys: readonly string[]): Map<string, Sighting> | undefined {
    const known = new Map<string, Sighting>();
    for (const key of keys) {
      const held = this.#held.get(key);
      if (held === undefined) return undefined;
      const sighting = knownOf(held, this.call?.arrivedAt);
      if (sighting !== undefined) known.set(key, sighting);
    }
    return known;
  }

  /** The rows of new views, and the files that they add to those that count as seen. */
  #viewsOf(
    sightings: readonly Sighting[],
    before: ReadonlyMap<string, Sighting>,
  ): { readonly views: readonly StoredView[]; readonly added: readonly NewlySeen[] } {
    const known = new Map<string, Sighting>();
    const views: StoredView[] = [];
    for (const next of sightings) {
      const { key } = next;
      const old = known.get(key) ?? before.get(key);
      if (!countsAsView(next, old, this.#options.policy)) continue;
      const after = afterView(old, next);
      known.set(key, after);
      views.push(...this.#ownRows(after));
      this.#held.delete(key);
    }
    return { views, added: [...known.values()].map((next) => ({ next, old: before.get(next.key) })) };
  }

  #tombstones({ keys, atMs }: Gone): readonly StoredView[] {
    for (const key of keys) this.#held.delete(key);
    return keys.map((key) => this.#row(tombstoneOf(key, atMs), this.call?.arrivedAt));
  }

  #ownRows(after: Sighting): readonly StoredView[] {
    const { call } = this;
    if (call === undefined || !this.#untold.has(after.key)) return [this.#row(after, call?.arrivedAt)];
    call.showsMore = true;
    this.#noteAtAnswer(call, after, after);
    const untold = this.#untold.get(after.key);
    return untold === undefined ? [] : [this.#row({ ...after, ...untold }, call.arrivedAt)];
  }

  /** The writes that copy this session's sightings to a new session. */
  async forkWrites(to: string): Promise<Writes> {
    const all = await this.#store.sightings(this.session);
    return { views: all.map((sighting) => ({ session: to, view: { sighting: stored(sighting) } })) };
  }

  /**
   * Adds a stub of a file, which only says that its sighting was forgotten. Without a key, deletes
   * all views.
   */
  async forget(key?: string): Promise<void> {
    if (key === undefined) return this.#lose({ forget: [{ session: this.session }] });
    const known = await this.recall(key);
    if (known !== undefined) await this.#lose({ views: [this.#row(stubOf(known, 'forgotten'))] });
  }

  /**
   * Call after the model's context was summarised. With the policy `keep`, nothing changes.
   * Otherwise no lines count as shown any more. With `clear`, the hashes of the seen files are
   * dropped too.
   */
  async compacted(): Promise<void> {
    const { compaction } = this.#options.policy;
    if (compaction === 'keep') return;
    const mark = { lost: 'compacted', keeps: compaction === 'clear' ? 'nothing' : 'stamp' } as const;
    await this.#lose({ marks: [{ session: this.session, mark }] });
  }

  /**
   * Call after the conversation was cut back to its state at `toMs`: views shown later do not count
   * any more. Keeps those after `untilMs`: they come from the continued conversation. Returns the
   * number of files that were seen in between.
   */
  async rewound(toMs: number, untilMs: number = Number.POSITIVE_INFINITY): Promise<number> {
    const all = (await this.#store.sightings(this.session)).filter(licenses);
    const lost = all.filter(({ atMs }) => atMs > toMs && atMs <= untilMs);
    if (lost.length === 0) return 0;
    const until = untilMs === Number.POSITIVE_INFINITY ? {} : { untilMs };
    const mark = { lost: 'rewound', keeps: 'nothing', afterMs: toMs, ...until } as const;
    await this.#lose({ marks: [{ session: this.session, mark }] });
    return lost.filter(counts).length;
  }

  /** Drops every sighting that the check does not confirm. */
  async verify(check: Check): Promise<Checked> {
    const all = await this.all();
    const kept = new Set(await confirmed(all, check));
    const failed = all.filter((sighting) => !kept.has(sighting));
    if (failed.length > 0)
      await this.#lose({ views: failed.map((sighting) => this.#row(stubOf(sighting, 'forgotten'))) });
    return { kept: kept.size, dropped: failed.length };
  }

  /** Records a loss. Everything recorded before it is lost too. */
  async #lose(writes: Writes): Promise<void> {
    const { recording, room } = this.#state;
    this.#state.lostAt = performance.now();
    room.forget();
    this.#held.clear();
    const ended = recording.over();
    if (ended !== undefined) await ended;
    await this.#store.record(writes);
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

  #evictedRows(evicted: readonly Sighting[]): readonly StoredView[] {
    return evicted.map((sighting) => this.#row(stubOf(sighting, 'evicted')));
  }

  #row(sighting: Sighting, since?: number): StoredView {
    const view = since === undefined ? { sighting: stored(sighting) } : { sighting: stored(sighting), since };
    return { session: this.session, view };
  }
}

type StoredView = NonNullable<Writes['views']>[number];

/** Files that a session knows to be deleted. */
interface Gone {
  readonly keys: readonly string[];
  readonly atMs: number;
}

const NONE_GONE: Gone = { keys: [], atMs: 0 };

/** A file that is about to be seen: what the session knows of it after the view, and knew before. */
interface NewlySeen {
  readonly next: Sighting;
  readonly old: Sighting | undefined;
}

/** The room for the files that one session may have seen, if the policy limits their number. */
class Room {
  readonly #max: number;
  readonly #all: () => Promise<readonly Sighting[]>;
  /** Last known number of files that count as seen; undefined: count again. */
  #live: number | undefined;
  /** Number of files seen for the first time while the count was undefined. */
  #uncounted = 0;

  constructor({ maxSightings }: Pick<Policy, 'maxSightings'>, all: () => Promise<readonly Sighting[]>) {
    this.#max = maxSightings;
    this.#all = all;
  }

  /** The sightings to evict before these files are added. Undefined if there is room. */
  for(files: readonly NewlySeen[]): Promise<readonly Sighting[]> | undefined {
    if (this.#max === 0) return undefined;
    const keys = new Set(files.flatMap(({ next, old }) => (isAdded(next, old) ? [next.key] : [])));
    if (keys.size === 0 || (this.#live === undefined && !this.#mustCount(keys))) return undefined;
    if (this.#live === undefined || this.#live + keys.size > this.#max) return this.#evict(keys);
    this.#live += keys.size;
    return undefined;
  }

  /** Counts again next time, because it is unknown what counts. */
  forget(): void {
    this.#live = undefined;
  }

  /**
   * True if sightings must be counted now. Counting reads all of them, so a short process (a hook)
   * that records only one mostly skips it. Therefore the limit may be exceeded by a tenth.
   */
  #mustCount(keys: ReadonlySet<string>): boolean {
    this.#uncounted += keys.size;
    if (this.#uncounted >= Math.min(SAMPLE, this.#max / 10)) return true;
    return [...keys].some(isSampled);
  }

  /**
   * The files seen least recently, until 90 % of the limit count, so that the next ones fit without
   * another eviction. Never one of `keep`.
   */
  async #evict(keep: ReadonlySet<string>): Promise<readonly Sighting[]> {
    const all = (await this.#all()).filter(({ key }) => !keep.has(key));
    const live = all.length + keep.size;
    const surplus = live <= this.#max ? 0 : live - Math.max(1, Math.floor(this.#max * 0.9));
    const oldest = all.sort((a, b) => a.atMs - b.atMs || (a.key < b.key ? -1 : 1)).slice(0, surplus);
    this.#live = live - oldest.length;
    return oldest;
  }
}

/** True if `next` is a live sighting and `old` is not: the number of live sightings then grows. */
function isAdded(next: Sighting, old: Sighting | undefined): boolean {
  return counts(next) && !(old !== undefined && counts(old));
}

/** The state that all calls of a session share. */
class SessionState {
  turn: string | undefined;
  /** When this process last recorded a loss, as a `performance.now()` time. */
  lostAt: number = Number.NEGATIVE_INFINITY;
  /** The records that are under way. */
  readonly recording: Work = new Work();
  readonly room: Room;

  constructor(room: Room) {
    this.room = room;
  }
}

/** Nothing to evict, because the store cannot count. Throws any other error. */
function noneIfStoreFails(error: unknown): readonly Sighting[] {
  mustBeOfStore(error);
  return [];
}
