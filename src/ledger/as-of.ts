import type { Ledger } from './ledger.ts';

/**
 * Runs `work` so that it sees only what was shown before its call arrived (a `performance.now()`
 * time). Later views do not license the call. For changes, which check sightings while they hold
 * the locks of their files.
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
