import type { Writes } from '../store/store.ts';

/**
 * Joins several writes into one transaction. Lists are concatenated in order; for single-valued
 * fields the last one wins. A store deletes before it records, so a part must not forget a sighting
 * that an earlier part records.
 */
export function joinWrites(...parts: readonly Writes[]): Writes {
  const given = parts.filter(hasAny);
  // Fast path for nearly every call: at most one part is not empty.
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
