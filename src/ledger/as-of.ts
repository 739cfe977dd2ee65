import type { Ledger } from './ledger.ts';

/**
 * Judges by what was shown before a call arrived, on the clock of `performance.now()`: what was shown since does not license
 * it. For changes, which look at sightings under the lock of their files.
 */
export async function asOf<T>(ledger: Ledger, arrivedAt: number, work: () => Promise<T>): Promise<T> {
  const keys = ledger.views.shownSince(arrivedAt);
  if (keys.length === 0) return work();
  const past = ledger.views.before(arrivedAt, await ledger.recallMany(keys));
  const unhold = ledger.fetched.hold([...past.keys()], past);
  try {
    return await work();
  } finally {
    unhold();
  }
}
