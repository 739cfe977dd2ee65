import type { Sighting } from '../model/sighting.ts';
import type { Ledger } from './ledger.ts';

/** All live sightings of a file or folder and of everything below it. */
export async function sightingsBelow(ledger: Ledger, key: string): Promise<readonly Sighting[]> {
  const prefix = `${key}/`;
  return (await ledger.all()).filter((each) => each.key === key || each.key.startsWith(prefix));
}

/**
 * Sightings of a moved file or folder under its new key. Marked racy, because a move changes
 * stamps: the next check compares bytes.
 */
export function movedSightings(
  sightings: readonly Sighting[],
  { from, to }: { readonly from: string; readonly to: string },
): Sighting[] {
  return sightings.map((seen) => ({ ...seen, key: `${to}${seen.key.slice(from.length)}`, racy: true }));
}
