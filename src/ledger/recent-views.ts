import type { CallTimes } from '../model/foreign-session.ts';
import type { Sighting } from '../model/sighting.ts';

/** How many files are remembered. A call older than all remembered views is judged by the current sightings. */
const MAX_FILES = 256;
/** How many views per file are remembered. */
const MAX_VIEWS = 8;

/** The kinds of sighting that come from being shown a file, not from changing it. */
const SHOWN: ReadonlySet<Sighting['how']> = new Set(['read', 'search', 'listing', 'cure']);

interface RecentView {
  /** The call whose answer shows the file. */
  readonly by: Pick<CallTimes, 'answeredAt'>;
  /** The sighting before that call. */
  readonly before: Sighting | undefined;
}

/**
 * When files were last shown to the model. A view licenses only calls that arrived after its answer
 * was sent: an earlier call was written without knowledge of it.
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

  /** The files shown at or after a moment; nearly always none. */
  shownSince(moment: number): readonly string[] {
    const keys: string[] = [];
    for (const [key, views] of this.#views)
      if (views.some(({ by }) => by.answeredAt >= moment)) keys.push(key);
    return keys;
  }

  /**
   * The sightings that judge a call that arrived at `moment`, for files shown again since. The
   * session's own changes count regardless of time. `now`: the current sightings.
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
