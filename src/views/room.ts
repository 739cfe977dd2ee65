import { Fault } from '../model/fault.ts';
import type { Policy } from '../model/policy.ts';
import type { Sighting } from '../model/sighting.ts';
import { counts, isSampled, SAMPLE } from './sightings.ts';

/** A file that is about to be seen: what the session knows of it after the view, and knew before. */
export interface NewlySeen {
  readonly next: Sighting;
  readonly old: Sighting | undefined;
}

/** The room for the files that one session may have seen, if the policy limits their number. */
export class Room {
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

/** The records that are under way. */
class Underway {
  #count = 0;
  #waiting: (() => void)[] = [];

  /** Call the returned function when the record has ended. */
  begin(): () => void {
    this.#count += 1;
    return () => {
      this.#count -= 1;
      if (this.#count === 0) for (const go of this.#waiting.splice(0)) go();
    };
  }

  /** Waits until every record has ended that began before. */
  ended(): Promise<void> | undefined {
    if (this.#count === 0) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}

/** What all calls of a session share. */
export class SessionState {
  turn: string | undefined;
  /** When this process last recorded a loss, as a `performance.now()` time. */
  lostAt: number = Number.NEGATIVE_INFINITY;
  readonly recording: Underway = new Underway();
  readonly room: Room;

  constructor(room: Room) {
    this.room = room;
  }
}

/** Nothing to evict, because the store cannot count. Throws any other error. */
export function noneIfStoreFails(error: unknown): readonly Sighting[] {
  if (error instanceof Fault && error.code === 'STORE_FAILED') return [];
  throw error;
}
