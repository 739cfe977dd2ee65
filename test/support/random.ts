/** Pseudo-random numbers, the same for the same seed (mulberry32). */
export function random(seed: number): {
  /** A whole number from 0 to `sides` - 1. */
  roll(sides: number): number;
  pick<T>(from: readonly T[]): T;
} {
  let state = seed >>> 0;
  const roll = (sides: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
  // The cast is safe: lists in tests are never empty.
  return { roll, pick: <T>(from: readonly T[]): T => from[roll(from.length)] as T };
}
