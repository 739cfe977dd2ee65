import type { Sighting } from '../model/sighting.ts';

/** Sightings of a moved file or folder at its new key. A move changes stamps, so that the next look compares the bytes. */
export function movedSightings(
  sightings: readonly Sighting[],
  { from, to }: { readonly from: string; readonly to: string },
): Sighting[] {
  return sightings.map((seen) => ({ ...seen, key: `${to}${seen.key.slice(from.length)}`, racy: true }));
}
