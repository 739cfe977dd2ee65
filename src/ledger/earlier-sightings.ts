import type { Fingerprint } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';

const MAX_KEPT = 1000;

/**
 * Whole views of files and folders that a session's own changes have replaced: an undo may bring them back. Holds what this
 * process recorded, up to a bound; anything else has to be read again.
 */
export class EarlierSightings {
  readonly #kept = new Map<string, Sighting>();
  /** The newest listing of each folder, by key: an undo knows a folder by its path alone. */
  readonly #listings = new Map<string, Sighting>();

  /** Keeps a sighting that is about to be replaced, if it covers the whole file or folder. */
  keep(sighting: Sighting | undefined): void {
    if (sighting?.fingerprint === undefined || sighting.coverage.kind !== 'whole') return;
    if (sighting.how === 'listing') keepNewest(this.#listings, sighting.key, sighting);
    else keepNewest(this.#kept, nameOf(sighting.key, sighting.fingerprint), sighting);
  }

  of(key: string, fingerprint: Fingerprint): Sighting | undefined {
    return this.#kept.get(nameOf(key, fingerprint));
  }

  listing(key: string): Sighting | undefined {
    return this.#listings.get(key);
  }

  clear(): void {
    this.#kept.clear();
    this.#listings.clear();
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
