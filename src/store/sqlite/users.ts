import { setTimeout } from 'node:timers/promises';
import { openProcessLock } from '../../lock/locks.ts';
import { Fault } from '../../model/fault.ts';
import { localOwner } from '../owner.ts';

/** The number of the only lock in the lock file. It covers the whole database. */
const DATABASE = 0;
const WAIT_MS = 5000;
const STEP_MS = 10;
/** Time to wait until processes that have just found the same damage leave the database. */
const ALONE_MS = 500;

/**
 * The users of a database, across processes. Each connection is a user until it is closed. A user
 * may replace the file while there is no other user.
 */
export class Users {
  readonly #lock: ReturnType<typeof openProcessLock>;
  readonly #database: string;

  private constructor(lock: ReturnType<typeof openProcessLock>, database: string) {
    this.#lock = lock;
    this.#database = database;
  }

  /** Joins the users. Waits while another user has the database exclusively. */
  static async join(database: string): Promise<Users> {
    const { tag, isTagAlive } = localOwner();
    const [files, folder] = [[`${database}.users`], `${database}.user-files`];
    const lock = openProcessLock({ files, folder, owner: tag, isAlive: isTagAlive });
    const users = new Users(lock, database);
    try {
      await users.#joinAgain();
      return users;
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /**
   * Runs `work` if no other connection uses the database. If one still does after a moment, returns
   * undefined without running it.
   */
  async alone<T>(work: () => T): Promise<T | undefined> {
    this.#lock.release(DATABASE, 'together');
    let done: T | undefined;
    try {
      if (await this.#isAlone()) {
        try {
          done = work();
        } finally {
          this.#lock.release(DATABASE, 'alone');
        }
      }
    } finally {
      await this.#joinAgain();
    }
    return done;
  }

  leave(): void {
    this.#lock.release(DATABASE, 'together');
    this.#lock.close();
  }

  /**
   * Takes the exclusive lock. Returns false if another user still has a lock after `ALONE_MS`. The
   * caller must have released its shared lock: otherwise two waiting users would block each other.
   */
  async #isAlone(): Promise<boolean> {
    for (let waited = 0; !this.#lock.tryAcquire(DATABASE, 'alone'); waited += STEP_MS) {
      if (waited >= ALONE_MS) return false;
      await setTimeout(STEP_MS);
    }
    return true;
  }

  async #joinAgain(): Promise<void> {
    for (let waited = 0; !this.#lock.tryAcquire(DATABASE, 'together'); waited += STEP_MS) {
      if (waited >= WAIT_MS)
        throw new Fault(
          'STORE_FAILED',
          `the state database ${this.#database} failed: another process kept it locked for too long; try again`,
          { path: this.#database, reason: 'busy' },
        );
      await setTimeout(STEP_MS);
    }
  }
}
