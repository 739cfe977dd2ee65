import type { NewEntry } from '../model/entry.ts';
import type { Sighting } from '../model/sighting.ts';
import { Sightings } from './sightings.ts';
import type { Notes, Writes } from './store.ts';

/** Notes of reads in order of arrival. For each session and file, only the newest record of what was seen is kept. */
export class Batch {
  readonly #sightings = new Sightings();
  readonly #entries: NewEntry[] = [];
  size = 0;

  add({ sightings, entries }: Notes): void {
    this.size += 1;
    this.#sightings.set(sightings);
    this.#entries.push(...entries);
  }

  recall(session: string, key: string): Sighting | undefined {
    return this.#sightings.get(session, key);
  }

  writes(): Notes {
    return { sightings: this.#sightings.all(), entries: this.#entries };
  }

  /** Drops waiting notes of what sessions have seen, if these writes replace or forget it. */
  supersede({ sightings = [], forget = [] }: Writes): void {
    this.#sightings.forget(sightings.map(({ session, sighting: { key } }) => ({ session, key })));
    this.#sightings.forget(forget);
  }

  followedBy(later: Batch): Batch {
    const { size } = this;
    this.add(later.writes());
    this.size = size + later.size;
    return this;
  }
}
