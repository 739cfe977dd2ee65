import type { Writes } from '../store/store.ts';

/**
 * Several writes as one transaction. Lists are put together in order; of fields that can stand only once the last one given
 * wins. A store forgets before it records, so a fragment must not forget what an earlier one records.
 */
export function joinWrites(...parts: readonly Writes[]): Writes {
  const sightings = parts.flatMap((part) => part.sightings ?? []);
  const forget = parts.flatMap((part) => part.forget ?? []);
  const entries = parts.flatMap((part) => part.entries ?? []);
  const settle = parts.flatMap((part) => part.settle ?? []);
  return {
    ...Object.assign({}, ...parts),
    ...(sightings.length === 0 ? {} : { sightings }),
    ...(forget.length === 0 ? {} : { forget }),
    ...(entries.length === 0 ? {} : { entries }),
    ...(settle.length === 0 ? {} : { settle }),
  };
}
