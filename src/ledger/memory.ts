import { isStub } from '../judge/facts.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import { NOTHING } from '../model/coverage.ts';
import type { Entry } from '../model/entry.ts';
import { type Fingerprint, sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import type { CallTimes } from '../model/foreign-session.ts';
import { type LostReason, NO_FLAGS, type Sighting } from '../model/sighting.ts';
import type { Store } from '../store/store.ts';
import { mergeSighting } from './sightings.ts';

/** Maximum number of cached answers of `recall`. The cache is cleared when it is full. */
const MAX_RECALLED = 1000;

/**
 * One session's sightings as a ledger has fetched them. Queries the store every time, because other
 * processes write there too. Only for locked files (`hold`) is the last answer reused.
 */
export class FetchedSightings {
  readonly #store: Store;
  readonly #session: string;
  /** The last answer of `recall` for each key. A change of that key drops it. */
  readonly #recalled = new Map<string, Sighting | undefined>();
  readonly #held = new Map<string, Sighting | undefined>();

  constructor(store: Store, session: string) {
    this.#store = store;
    this.#session = session;
  }

  recall(key: string): Awaitable<Sighting | undefined> {
    const stored = this.#held.has(key) ? this.#held.get(key) : this.#store.recall(this.#session, key);
    return andThen(stored, (known) => {
      if (this.#recalled.size >= MAX_RECALLED) this.#recalled.clear();
      this.#recalled.set(key, known);
      return known;
    });
  }

  async recallMany(keys: readonly string[]): Promise<ReadonlyMap<string, Sighting>> {
    const found = new Map<string, Sighting>();
    const unknown: string[] = [];
    for (const key of keys) {
      const held = this.#held.get(key);
      if (held !== undefined) found.set(key, held);
      else if (!this.#held.has(key)) unknown.push(key);
    }
    const stored = unknown.length === 0 ? [] : await this.#store.recallMany(this.#session, unknown);
    for (const [key, sighting] of stored) found.set(key, sighting);
    return found;
  }

  /**
   * Makes `recall` return these results for files that the caller has locked, each until that file
   * is changed. The returned function ends this for all files. Call it before releasing the locks.
   */
  hold(keys: readonly string[], found: ReadonlyMap<string, Sighting | undefined>): () => void {
    for (const key of keys) this.#held.set(key, found.get(key));
    return () => {
      for (const key of keys) this.#held.delete(key);
    };
  }

  /** True if `recalled` is the last answer of `recall`, and the key was not changed since. */
  isLast(key: string, recalled: Sighting | undefined): boolean {
    return this.#recalled.has(key) && this.#recalled.get(key) === recalled;
  }

  /** Drops the cached sighting of a key that is being changed. */
  drop(key: string): void {
    this.#recalled.delete(key);
    this.#held.delete(key);
  }

  /**
   * Clears everything, including the answers for locked files, so that the store is queried again.
   */
  clear(): void {
    this.#recalled.clear();
    this.#held.clear();
  }
}

const MAX_KEPT = 1000;
/** Session events that discard sightings. Another process may have reported them. */
const FORGETTING: ReadonlySet<string> = new Set(['compacted', 'rewound', 'forgotten', 'expired']);

/**
 * Complete sightings (of a whole file or folder) that the session's own changes have replaced. If
 * an undo restores what the session had seen, the old sighting counts again. Holds only the newest
 * sightings that were replaced in this process; other restored files must be read again.
 */
export class EarlierSightings {
  readonly #store: Store;
  readonly #session: string;
  readonly #kept = new Map<string, Sighting>();
  /** The newest listing of each folder, by key: an undo identifies a folder only by its path. */
  readonly #listings = new Map<string, Sighting>();
  #events: Promise<readonly Entry[]> | undefined;

  constructor(store: Store, session: string) {
    this.#store = store;
    this.#session = session;
  }

  /** Keeps a sighting that is about to be replaced, if it covers the whole file or folder. */
  keep(sighting: Sighting | undefined): void {
    if (sighting?.fingerprint === undefined || sighting.coverage.kind !== 'whole') return;
    if (sighting.how === 'listing') keepNewest(this.#listings, sighting.key, sighting);
    else keepNewest(this.#kept, nameOf(sighting.key, sighting.fingerprint), sighting);
  }

  /** The session's sighting of a file with these bytes, unless the session has forgotten anything since. */
  file(key: string, fingerprint: Fingerprint): Promise<Sighting | undefined> {
    return this.#unlessForgotten(this.#kept.get(nameOf(key, fingerprint)));
  }

  /**
   * The newest full listing of a folder that the session has deleted, unless the session has
   * forgotten anything since.
   */
  listing(key: string): Promise<Sighting | undefined> {
    return this.#unlessForgotten(this.#listings.get(key));
  }

  clear(): void {
    this.#kept.clear();
    this.#listings.clear();
  }

  /**
   * Fetches the session's events once for all lookups until the returned function is called,
   * instead of once per lookup.
   */
  prefetch(): () => void {
    const kept = [...this.#kept.values(), ...this.#listings.values()];
    if (kept.length === 0) return () => {};
    this.#events = this.#eventsSince(kept.reduce((oldest, { atMs }) => Math.min(oldest, atMs), Infinity));
    // Ignore a failure here: the first lookup that needs the events reports it.
    this.#events.catch(() => undefined);
    return () => {
      this.#events = undefined;
    };
  }

  async #unlessForgotten(seen: Sighting | undefined): Promise<Sighting | undefined> {
    if (seen === undefined) return undefined;
    const events = await (this.#events ?? this.#eventsSince(seen.atMs));
    const later = events.filter(({ atMs }) => atMs >= seen.atMs);
    return later.some(({ text = '' }) => FORGETTING.has(text)) ? undefined : seen;
  }

  #eventsSince(sinceMs: number): Promise<readonly Entry[]> {
    return this.#store.entries({ session: this.#session, kinds: ['session'], sinceMs });
  }
}

function keepNewest(kept: Map<string, Sighting>, name: string, sighting: Sighting): void {
  kept.delete(name);
  kept.set(name, sighting);
  if (kept.size <= MAX_KEPT) return;
  const [oldest] = kept.keys();
  if (oldest !== undefined) kept.delete(oldest);
}

function nameOf(key: string, { sha256 }: Fingerprint): string {
  return `${sha256} ${key}`;
}

/**
 * Maximum number of files whose recent views are remembered. Beyond it, the oldest file is
 * forgotten, but not while a call that shows it is unanswered. A forgotten view counts for every
 * call, even for calls that arrived before the view was sent.
 */
const MAX_FILES = 256;
/**
 * Beyond this number of files, the oldest one is forgotten even if a call that shows it is still
 * unanswered.
 */
const MAX_UNANSWERED = 10_000;
/** Maximum number of views that are remembered for one file. Beyond it, `leastNeeded` chooses one to drop. */
const MAX_VIEWS = 8;

/** The kinds of sighting that come from being shown a file, not from changing it. */
const SHOWN: ReadonlySet<Sighting['how']> = new Set(['read', 'output', 'listing', 'cure']);

interface RecentView {
  /** The call whose answer shows the file. */
  readonly by: Pick<CallTimes, 'answeredAt'>;
  /** The sighting before the call `by`. */
  readonly before: Sighting | undefined;
  /** The sighting that the call adds. Absent for lines of a notice about the session's own change. */
  readonly shown?: Sighting;
}

/**
 * Remembers when files were last shown to the model. A view counts only for calls that arrived
 * after the answer with the view was sent: the model wrote earlier calls without knowing the view.
 */
export class RecentViews {
  readonly #views = new Map<string, RecentView[]>();

  add(key: string, view: RecentView): void {
    const views = this.#views.get(key) ?? [];
    if (views.length === MAX_VIEWS) views.splice(leastNeeded(views), 1);
    views.push(view);
    this.#views.delete(key);
    this.#views.set(key, views);
    if (this.#views.size > MAX_FILES) this.#dropOldest();
  }

  /**
   * Forgets the views of the oldest file. A forgotten view counts for every call. So files that an
   * unanswered call shows are skipped, unless there are more than `MAX_UNANSWERED` files.
   */
  #dropOldest(): void {
    const isFull = this.#views.size > MAX_UNANSWERED;
    for (const [key, views] of this.#views) {
      if (!isFull && views.some(({ by }) => by.answeredAt === Number.POSITIVE_INFINITY)) continue;
      this.#views.delete(key);
      return;
    }
  }

  /**
   * The sighting that counts for a call that arrived at `moment`. `now`: the current sighting. A
   * view counts only if its answer was sent before `moment`, even if an earlier view is still
   * unanswered. The session's own changes always count.
   */
  knownAt(moment: number, now: Sighting): Sighting | undefined {
    // A loss, such as a compaction, is newer than every view.
    if (now.lost !== undefined) return now;
    const isShown = SHOWN.has(now.how);
    let known: Sighting | undefined = now;
    const answered: Sighting[] = [];
    for (const { by, before, shown } of this.#views.get(now.key)?.toReversed() ?? []) {
      if (by.answeredAt < moment) {
        if (!isShown || shown === undefined) break;
        answered.unshift(shown);
      } else if (isShown || isOfSameBytes(before, now)) {
        // This view does not count: start from the sighting before it and add the later views that
        // count. If `now` comes from the session's own change, do this only for a notice about that
        // change, which shows the same bytes.
        known = answered.reduce(mergeSighting, before);
      }
      // Stop at a change by the session or at a loss: neither depends on the views before it.
      if (before === undefined || before.lost !== undefined || !SHOWN.has(before.how)) break;
    }
    return known;
  }
}

/**
 * The index of the view to forget: an answered one, or the second if none is answered. Avoids the
 * oldest view if possible, because that one holds the sighting from before all recent views.
 */
function leastNeeded(views: readonly RecentView[]): number {
  const isAnswered = ({ by }: RecentView): boolean => by.answeredAt !== Number.POSITIVE_INFINITY;
  const later = views.findIndex((view, index) => index > 0 && isAnswered(view));
  if (later > 0) return later;
  return views[0] !== undefined && isAnswered(views[0]) ? 0 : 1;
}

/** True if the earlier sighting already covers every line of the bytes in `now`. */
export function sawAll(earlier: Sighting | undefined, now: Sighting): boolean {
  return earlier?.coverage.kind === 'whole' && isOfSameBytes(earlier, now);
}

function isOfSameBytes(before: Sighting | undefined, now: Sighting): boolean {
  return (
    before?.fingerprint !== undefined &&
    now.fingerprint !== undefined &&
    sameFingerprint(before.fingerprint, now.fingerprint)
  );
}

/**
 * True if a view of the whole file only repeats a view from less than `withinMs` ago. It is then
 * not stored again. Most second reads are such repeats.
 */
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
  if (old.stamp === undefined || next.stamp === undefined) return false;
  return isOfSameBytes(old, next) && sameStamp(old.stamp, next.stamp);
}

/** Reduces a sighting to the reason why it was lost, which refusals report. */
export function stubOf(sighting: Sighting, lost: LostReason): Sighting {
  return { ...EMPTY, key: sighting.key, how: sighting.how, atMs: sighting.atMs, lost };
}

/**
 * Records that this session deleted the file. Creating it again then needs no read. `seenBefore`: the bytes that the
 * session has seen there, which count as seen if another program brings them back.
 */
export function tombstoneOf(key: string, atMs: number, seenBefore?: Sighting['seenBefore']): Sighting {
  const gone: Sighting = { ...EMPTY, key, how: 'write', atMs, tombstone: true };
  return seenBefore === undefined ? gone : { ...gone, seenBefore };
}

/**
 * The record of a deleted file (tombstone) without the bytes that were seen; undefined for other
 * sightings.
 */
export function withoutStates({ tombstone, key, atMs }: Sighting): Sighting | undefined {
  return tombstone === true ? tombstoneOf(key, atMs) : undefined;
}

/**
 * Removes the shown lines, because they are no longer in the model's context. Keeps hash and stamp,
 * to detect whether the file changed.
 */
export function withoutContext(sighting: Sighting, lost: LostReason): Sighting {
  const { refusedContent: _refused, heldBack: _held, seenBefore: _before, ...rest } = sighting;
  return { ...rest, coverage: NOTHING, lost };
}

const EMPTY: Omit<Sighting, 'key' | 'how' | 'atMs'> = {
  fingerprint: undefined,
  stamp: undefined,
  racy: false,
  coverage: NOTHING,
  totalLines: undefined,
  flags: NO_FLAGS,
};

interface Room {
  readonly max: number;
  /** Sightings about to be written; they are never evicted. */
  readonly keep: ReadonlyMap<string, Sighting>;
  /** Number of sightings in `keep` that are new. */
  readonly added: number;
}

interface Evicted {
  /**
   * Stubs that replace the evicted sightings. A stub holds only the reason why its sighting was
   * lost.
   */
  readonly stubs: readonly Sighting[];
  /**
   * Keys of the oldest stubs (lost sightings) and tombstones (deleted files), which are deleted
   * without a trace.
   */
  readonly forgotten: readonly string[];
  /** The number of live sightings after the eviction. */
  readonly live: number;
}

/**
 * Chooses the oldest sightings to evict, until 90 % of `max` are live, so that the next ones fit
 * without another eviction. Up to `max` stubs (lost sightings) and tombstones (deleted files) are
 * kept in addition.
 */
export function evict(all: readonly Sighting[], room: Room): Evicted {
  const oldestFirst = [...all].sort((a, b) => a.atMs - b.atMs || (a.key < b.key ? -1 : 1));
  const live = oldestFirst.filter((sighting) => !isGone(sighting));
  const wanted = Math.max(1, Math.floor(room.max * 0.9));
  const surplus = Math.max(0, live.length + room.added - wanted);
  const victims = live.filter((sighting) => !room.keep.has(sighting.key)).slice(0, surplus);

  const gone = oldestFirst.filter((sighting) => isGone(sighting) && !room.keep.has(sighting.key));
  const tooMany = Math.max(0, gone.length + victims.length - room.max);
  return {
    stubs: victims.map((sighting) => stubOf(sighting, 'evicted')),
    forgotten: gone.slice(0, tooMany).map((sighting) => sighting.key),
    live: live.length + room.added - victims.length,
  };
}

function isGone(sighting: Sighting): boolean {
  return sighting.tombstone === true || isStub(sighting);
}
