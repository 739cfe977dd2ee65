import { type BigIntStats, statSync } from 'node:fs';
import { Fault } from '../../model/fault.ts';

/**
 * Notices that the files of an open database were deleted, replaced or cut by another program. SQLite itself goes on
 * without a word in most of these cases, and what it records then is lost. Only looks at names and sizes: opening and
 * closing one of the files here would drop SQLite's own locks on it.
 */
export class FileGuard {
  readonly #file: string;
  readonly #isSound: () => boolean;
  readonly #identity: string;
  #bytes: bigint;
  #log: { readonly identity: string; readonly bytes: bigint } | undefined;
  #broken: Fault | undefined;

  /** `isSound` reads the whole database anew; called only if the file has become smaller, as it does after a clean-up. */
  constructor(file: string, isSound: () => boolean) {
    this.#file = file;
    this.#isSound = isSound;
    const stats = statsOf(file);
    this.#identity = identityOf(stats);
    this.#bytes = stats?.size ?? 0n;
  }

  /** Throws a Fault if a file is not what it was, and again on every later call. */
  check(): void {
    this.#broken ??= this.#problem();
    if (this.#broken !== undefined) throw this.#broken;
  }

  /** Remembers how large the log is after a commit. */
  note(): void {
    const stats = statsOf(`${this.#file}-wal`);
    if (stats !== undefined) this.#log = { identity: identityOf(stats), bytes: stats.size };
  }

  #problem(): Fault | undefined {
    const stats = statsOf(this.#file);
    if (identityOf(stats) !== this.#identity) return this.#fault('was removed or replaced while in use');
    const bytes = stats?.size ?? 0n;
    if (bytes < this.#bytes && !this.#isSound()) return this.#fault('was truncated while in use');
    this.#bytes = bytes;
    return this.#logProblem();
  }

  /** The write-ahead log stays in place, and never becomes smaller, as long as one process has the database open. */
  #logProblem(): Fault | undefined {
    if (this.#log === undefined) return undefined;
    const stats = statsOf(`${this.#file}-wal`);
    const isWhole = identityOf(stats) === this.#log.identity && (stats?.size ?? 0n) >= this.#log.bytes;
    return isWhole ? undefined : this.#fault('lost its write-ahead log (-wal) while in use');
  }

  #fault(what: string): Fault {
    const message = `the state database ${this.#file} ${what}: start again`;
    return new Fault('STORE_FAILED', message, { path: this.#file, reason: 'lost' });
  }
}

function statsOf(file: string): BigIntStats | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false });
}

function identityOf(stats: BigIntStats | undefined): string {
  return stats === undefined ? 'missing' : `${stats.dev}:${stats.ino}`;
}
