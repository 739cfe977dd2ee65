import { setImmediate } from 'node:timers/promises';
import type { Store } from '../store/store.ts';
import { Records } from './records.ts';

/** Store calls that take milliseconds each and that long lists make many of. */
const PAGED: ReadonlySet<PropertyKey> = new Set(['entries', 'confirm']);

/**
 * Lets answers that a user waits for go first. Long lists are read in pages, and before each page they wait until no
 * such answer is in progress. A local store reads without yielding, so a click would otherwise wait for the whole list.
 */
export class Foreground {
  #running = 0;
  #waiting: (() => void)[] = [];

  /** Runs work that a user waits for. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      if (this.#running === 0) for (const goOn of this.#waiting.splice(0)) goOn();
    }
  }

  /** A view of the records whose reads wait until no click of a user is being answered. */
  behind(records: Records): Records {
    const { images, fleet } = records;
    const store = this.#patient(records.store);
    return Records.over({ store, images, ...(fleet === undefined ? {} : { fleet }) });
  }

  #patient(store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        if (!PAGED.has(name)) return value.bind(target);
        return async (...args: readonly unknown[]): Promise<unknown> => {
          await this.#turn();
          return value.apply(target, args);
        };
      },
    });
  }

  /** Accepts waiting requests first, then waits for those in progress. */
  async #turn(): Promise<void> {
    do {
      await setImmediate();
      if (this.#running > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } while (this.#running > 0);
  }
}
