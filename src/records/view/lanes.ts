/** The distance between two entries, in pixels. */
const STEP = 13;
/** The width of a pause, however long it was, in pixels. It has room for the pause's length in words. */
const GAP = 64;
/** A longer time between two entries is drawn as a pause. */
const PAUSE_MS = 120_000;

/** Positions on the viewer's lanes, in pixels. */
interface LaneAxis {
  /** The index of the oldest entry that has room. */
  readonly first: number;
  /** The position of each entry from `first` on. */
  readonly at: readonly number[];
  /** The pauses: the middle of each one, and its length. */
  readonly pauses: readonly { readonly at: number; readonly ms: number }[];
}

/**
 * Places the newest entries side by side, as many as fit into `width`. Every entry takes the same
 * room and every pause the same, because on an axis of time an hour without work would press the
 * minutes of work into one point. `times` must ascend.
 */
export function laneAxis(times: readonly number[], width: number): LaneAxis {
  const pauseAt = (i: number): number => (times[i] ?? 0) - (times[i - 1] ?? 0);
  const room = (i: number): number => (pauseAt(i) > PAUSE_MS ? GAP : STEP);
  let first = Math.max(0, times.length - 1);
  for (let used = 0; first > 0 && used + room(first) <= width; first -= 1) used += room(first);
  const at = [0];
  const pauses: { at: number; ms: number }[] = [];
  for (let i = first + 1; i < times.length; i += 1) {
    const before = at.at(-1) ?? 0;
    if (room(i) === GAP) pauses.push({ at: before + GAP / 2, ms: pauseAt(i) });
    at.push(before + room(i));
  }
  return { first, at: times.length === 0 ? [] : at, pauses };
}

/** Formats a length of time: `less than a second`, `12 s`, `3 min`, `5 h`, `2 days`. */
export function durationWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 1) return 'less than a second';
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
