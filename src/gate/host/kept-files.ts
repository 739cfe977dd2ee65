import type { State } from '../../model/delta.ts';
import type { Stamp } from '../../model/fingerprint.ts';

/** A file whose bytes were kept before a command, with the stamp that it had then. */
interface KeptFile {
  readonly stamp: Stamp;
  readonly side: State;
}

/** Maximum number of files to remember. Beyond it, all are forgotten and read again. */
const MAX_FILES = 20_000;

/**
 * The files that this process has kept before commands, by key. A file that has not changed since
 * need not be read again.
 */
export class KeptFiles {
  readonly #files = new Map<string, KeptFile>();

  get(key: string): KeptFile | undefined {
    return this.#files.get(key);
  }

  set(key: string, file: KeptFile): void {
    if (this.#files.size >= MAX_FILES) this.#files.clear();
    this.#files.set(key, file);
  }
}
