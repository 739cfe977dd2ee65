import type { CallTimes } from '../model/foreign-session.ts';
import type { Sighting } from '../model/sighting.ts';

/** Files remembered; a call older than so many views is judged by what is known now. */
const MAX_FILES = 256;
/** Views of one file remembered. */
const MAX_VIEWS = 8;

/** How a session came to know a file by being shown it, not by changing it. */
const SHOWN: ReadonlySet<Sighting['how']> = new Set(['read', 'search', 'listing', 'cure']);

interface RecentView {
  /** The call whose answer shows it. */
  readonly by: Pick<CallTimes, 'answeredAt'>;
  /** What the session knew before. */
  readonly before: Sighting | undefined;
}

/**
 * When the last views of files were shown to the model. A view licenses only calls
 * that arrived after the answer that showed it: a call sent earlier cannot have been written in its knowledge.
 */
export class RecentViews {
  readonly #views = new Map<string, readonly RecentView[]>();

  add(key: string, view: RecentView): void {
    const views = [...(this.#views.get(key) ?? []), view].slice(-MAX_VIEWS);
    this.#views.delete(key);
    this.#views.set(key, views);
    const [oldest] = this.#views.keys();
    if (this.#views.size > MAX_FILES && oldest !== undefined) this.#views.delete(oldest);
  }

  /** The files of which something was shown at or after a moment; nearly always none. */
  shownSince(moment: number): readonly string[] {
    const keys: string[] = [];
    for (const [key, views] of this.#views)
      if (views.some(({ by }) => by.answeredAt >= moment)) keys.push(key);
    return keys;
  }

  /**
   * The sightings by which a call is judged that arrived at a moment, of those files of which more was shown since. A session's
   * own changes count whenever they were made; `now` holds what is known by now.
   */
  before(moment: number, now: ReadonlyMap<string, Sighting>): ReadonlyMap<string, Sighting | undefined> {
    const past = new Map<string, Sighting | undefined>();
    for (const [key, { how }] of now) {
      if (!SHOWN.has(how)) continue;
      for (const { by, before } of this.#views.get(key)?.toReversed() ?? []) {
        if (by.answeredAt < moment) break;
        past.set(key, before);
      }
    }
    return past;
  }
}
