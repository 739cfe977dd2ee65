import type { Sighting } from '../model/sighting.ts';
import type { Notes, Writes } from './store.ts';

/** The newest record of each file that each session has seen, in memory. */
export class Sightings {
  readonly #bySession = new Map<string, Map<string, Sighting>>();

  set(sightings: Notes['sightings']): void {
    for (const { session, sighting } of sightings) {
      let seen = this.#bySession.get(session);
      if (seen === undefined) {
        seen = new Map();
        this.#bySession.set(session, seen);
      }
      seen.set(sighting.key, sighting);
    }
  }

  get(session: string, key: string): Sighting | undefined {
    return this.#bySession.get(session)?.get(key);
  }

  of(session: string): readonly Sighting[] {
    return [...(this.#bySession.get(session)?.values() ?? [])];
  }

  all(): Notes['sightings'] {
    return [...this.#bySession].flatMap(([session, seen]) =>
      [...seen.values()].map((sighting) => ({ session, sighting })),
    );
  }

  /** Forgets single files, or all files of a session if there is no key. */
  forget(list: NonNullable<Writes['forget']>): void {
    for (const { session, key } of list) {
      if (key === undefined) this.#bySession.delete(session);
      else this.#bySession.get(session)?.delete(key);
    }
  }
}
