/**
 * A number that changes when another connection has written to the database. It is read once for
 * calls that arrive together.
 */
export class DatabaseVersion {
  readonly #read: () => number;
  #isCurrent = false;
  #latest = -1;

  constructor(read: () => number) {
    this.#read = read;
  }

  /** The version, read at most once per turn of the event loop. */
  current(): number {
    return this.#isCurrent ? this.#latest : this.now();
  }

  /** Reads the version now. Other lookups at the same moment reuse it. */
  now(): number {
    this.#latest = this.#read();
    this.#isCurrent = true;
    setImmediate(() => {
      this.#isCurrent = false;
    });
    return this.#latest;
  }

  /** Call this before a write: another connection may write first. The next lookup reads the version again. */
  writing(): void {
    this.#isCurrent = false;
  }
}
