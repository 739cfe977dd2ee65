import type { Sighting } from '../../model/sighting.ts';

/** Number of cached sightings. */
const MAX_RECALLED = 1000;

/**
 * A cache of sightings that this connection read or wrote. It is cleared when another connection has written, which
 * changes a version number. For calls that arrive together, the number is read once.
 */
export class Recalled {
  readonly #versionNow: () => number;
  readonly #known = new Map<string, Sighting>();
  #version = -1;
  #asked = false;
  #latest = -1;

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

  /** Called before this connection writes. Another one may write right after it, so the version is read again. */
  forget(): void {
    this.#known.clear();
    this.#asked = false;
  }

  /** The version number, read once for calls that arrive together. */
  version(): number {
    if (this.#asked) return this.#latest;
    this.#latest = this.#versionNow();
    this.#asked = true;
    setImmediate(() => {
      this.#asked = false;
    });
    return this.#latest;
  }

  #forgetIfOthersWrote(): void {
    if (this.#asked && this.#version === this.#latest) return;
    const version = this.version();
    if (version === this.#version) return;
    this.#version = version;
    this.#known.clear();
  }
}

function nameOf(session: string, key: string): string {
  return `${session}\0${key}`;
}
