import type { Writes } from '../store/store.ts';

/**
 * Several writes as one transaction. Lists are put together in order; of fields that can stand only once the last one given
 * wins. A store forgets before it records, so a fragment must not forget what an earlier one records.
 */
export function joinWrites(...parts: readonly Writes[]): Writes {
  const given = parts.filter(hasAny);
  // Nearly every call: one fragment beside empty ones.
  if (given.length < 2) return given[0] ?? {};
  const joined: Writes = Object.assign({}, ...given);
  return {
    ...joined,
    ...(joined.sightings && { sightings: given.flatMap((part) => part.sightings ?? []) }),
    ...(joined.forget && { forget: given.flatMap((part) => part.forget ?? []) }),
    ...(joined.entries && { entries: given.flatMap((part) => part.entries ?? []) }),
    ...(joined.settle && { settle: given.flatMap((part) => part.settle ?? []) }),
  };
}

function hasAny(writes: Writes): boolean {
  for (const _ in writes) return true;
  return false;
}
