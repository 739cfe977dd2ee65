import type { Fingerprint } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';

const MAX_KEPT = 1000;

/**
 * Whole views that a session's own changes have replaced: an undo may bring their bytes back. Of this process only, and
 * bounded; what is not here has to be read again.
 */
export class EarlierSightings {
  readonly #kept = new Map<string, Sighting>();

  /** Keeps a sighting that is about to be replaced, if it is one of a whole file. */
  keep(sighting: Sighting | undefined): void {
    if (sighting?.fingerprint === undefined || sighting.coverage.kind !== 'whole') return;
    const name = nameOf(sighting.key, sighting.fingerprint);
    this.#kept.delete(name);
    this.#kept.set(name, sighting);
    if (this.#kept.size <= MAX_KEPT) return;
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined) this.#kept.delete(oldest);
  }

  of(key: string, fingerprint: Fingerprint): Sighting | undefined {
    return this.#kept.get(nameOf(key, fingerprint));
  }

  clear(): void {
    this.#kept.clear();
  }
}

function nameOf(key: string, { sha256 }: Fingerprint): string {
  return `${sha256} ${key}`;
}
