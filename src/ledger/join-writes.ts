import type { Writes } from '../store/store.ts';

/**
 * Several writes as one transaction. Lists are put together in order; of fields that can stand only once the last one given
 * wins. A store forgets before it records, so a fragment must not forget what an earlier one records.
 */
export function joinWrites(...parts: readonly Writes[]): Writes {
  const given = parts.filter(hasAny);
  // Nearly every call: one fragment beside empty ones.
  if (given.length < 2) return given[0] ?? {};
  const joined: { -readonly [K in keyof Writes]: Writes[K] } = {};
  for (const part of given) {
    const { sightings, forget, entries, settle } = joined;
    Object.assign(joined, part);
    if (sightings !== undefined) joined.sightings = both(sightings, part.sightings);
    if (forget !== undefined) joined.forget = both(forget, part.forget);
    if (entries !== undefined) joined.entries = both(entries, part.entries);
    if (settle !== undefined) joined.settle = both(settle, part.settle);
  }
  return joined;
}

function both<T>(first: readonly T[], second: readonly T[] | undefined): readonly T[] {
  return second === undefined ? first : [...first, ...second];
}

function hasAny(writes: Writes): boolean {
  for (const _ in writes) return true;
  return false;
}
