import type { Entry } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Store } from '../store/store.ts';

const MAX_KEPT = 1000;
/** Session events that discard sightings. Another process may have reported them. */
const FORGETTING: ReadonlySet<string> = new Set(['compacted', 'rewound', 'forgotten', 'expired']);

/**
 * Whole views of files and folders that the session's own changes have replaced: an undo may
 * restore them. Holds only views that this process recorded, up to a limit; others must be read
 * again.
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
    // The first lookup that needs the events reports the failure.
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
