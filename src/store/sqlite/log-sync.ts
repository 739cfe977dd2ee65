import { close, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';

const sync = promisify(fdatasync);

/**
 * Brings the write-ahead log to the disk without holding up other work. Commits that come while one sync is under way
 * share the next one. SQLite takes no locks on this file, so it may be opened beside SQLite.
 */
export class LogSync {
  readonly #file: string;
  #fd: number | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(database: string) {
    this.#file = `${database}-wal`;
  }

  /** Resolves when everything that was committed before the call is on the disk. */
  sync(): Promise<void> {
    if (this.#running === undefined) return this.#start();
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    // Errors of closing a file that was only synced concern nobody.
    if (fd !== undefined) close(fd, () => {});
  }

  async #start(): Promise<void> {
    this.#next = undefined;
    this.#fd ??= openSync(this.#file, 'r');
    this.#running = sync(this.#fd).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }
}
