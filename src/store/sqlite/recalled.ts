import type { Sighting } from '../../model/sighting.ts';

/** Sightings that need not be looked up again. */
const MAX_RECALLED = 1000;

/**
 * What was read from the store and is still true. It is true until someone writes: this connection, which then forgets,
 * or another, which changes a version number. Calls that came in together are answered together: for them the number is
 * asked for once.
 */
export class Recalled {
  readonly #versionNow: () => number;
  readonly #known = new Map<string, Sighting>();
  #version = -1;
  #asked = false;

  constructor(versionNow: () => number) {
    this.#versionNow = versionNow;
  }

  get(session: string, key: string): Sighting | undefined {
    this.#forgetIfOthersWrote();
    return this.#known.get(nameOf(session, key));
  }

  set(session: string, sighting: Sighting): void {
    if (this.#known.size >= MAX_RECALLED) this.#known.clear();
    this.#known.set(nameOf(session, sighting.key), sighting);
  }

  forget(): void {
    this.#known.clear();
  }

  #forgetIfOthersWrote(): void {
    if (this.#asked) return;
    const version = this.#versionNow();
    this.#asked = true;
    setImmediate(() => {
      this.#asked = false;
    });
    if (version === this.#version) return;
    this.#version = version;
    this.#known.clear();
  }
}

function nameOf(session: string, key: string): string {
  return `${session}\0${key}`;
}
