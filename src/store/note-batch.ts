import type { NewEntry } from '../model/entry.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Notes, Writes } from './store.ts';

/** Notes of reads in order of arrival. For each session and file, only the newest record of what was seen is kept. */
export class Batch {
  readonly #sightings = new Map<string, Map<string, Sighting>>();
  readonly #entries: NewEntry[] = [];
  size = 0;

  add({ sightings, entries }: Notes): void {
    this.size += 1;
    for (const { session, sighting } of sightings) this.#seenBy(session).set(sighting.key, sighting);
    this.#entries.push(...entries);
  }

  recall(session: string, key: string): Sighting | undefined {
    return this.#sightings.get(session)?.get(key);
  }

  writes(): Notes {
    const sightings = [...this.#sightings].flatMap(([session, seen]) =>
      [...seen.values()].map((sighting) => ({ session, sighting })),
    );
    return { sightings, entries: this.#entries };
  }

  /** Drops waiting notes of what sessions have seen, if these writes replace or forget it. */
  supersede({ sightings = [], forget = [] }: Writes): void {
    for (const { session, sighting } of sightings) this.#sightings.get(session)?.delete(sighting.key);
    for (const { session, key } of forget) {
      if (key === undefined) this.#sightings.delete(session);
      else this.#sightings.get(session)?.delete(key);
    }
  }

  followedBy(later: Batch): Batch {
    const { size } = this;
    this.add(later.writes());
    this.size = size + later.size;
    return this;
  }

  #seenBy(session: string): Map<string, Sighting> {
    let seen = this.#sightings.get(session);
    if (seen === undefined) {
      seen = new Map();
      this.#sightings.set(session, seen);
    }
    return seen;
  }
}
