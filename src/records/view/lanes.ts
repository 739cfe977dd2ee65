/** Longer pauses are always drawn shortened. */
const MAX_PAUSE_MS = 60_000;
/** Pauses of up to a quarter of this time are always drawn to scale. */
const CUT_MS = 8_000;
/** The minimum distance between two entries, so that those of the same moment do not overlap. */
const MIN_STEP_MS = 150;

/** Positions on the viewer's time axis, as numbers from 0 to 1. */
interface LaneAxis {
  /** The position of each entry, in the order of the given times. */
  readonly at: Float64Array;
  /** The pauses that are drawn shortened: each one's position on the axis, and its real length. */
  readonly cuts: readonly { readonly at: number; readonly ms: number }[];
}

/**
 * The positions of entries on a time axis on which long pauses are shortened. Otherwise a few
 * seconds of work before a pause would be drawn as one point. Times must ascend.
 */
export function laneAxis(times: ArrayLike<number>): LaneAxis {
  const at = new Float64Array(times.length);
  const cuts: { at: number; ms: number }[] = [];
  const pause = pauseFor(times);
  let place = 0;
  for (let i = 1; i < times.length; i += 1) {
    const ms = Math.max(0, (times[i] ?? 0) - (times[i - 1] ?? 0));
    if (ms > pause) {
      cuts.push({ at: place + pause / 2, ms });
      place += pause;
    } else place += Math.max(ms, Math.min(MIN_STEP_MS, pause / 8));
    at[i] = place;
  }
  const scale = place === 0 ? 0 : 1 / place;
  return {
    at: at.map((each) => each * scale),
    cuts: cuts.map(({ at: where, ms }) => ({ at: where * scale, ms })),
  };
}

/**
 * The longest pause that is drawn to scale; longer pauses are drawn with this length. It is a
 * twelfth of the total time, within limits.
 */
function pauseFor(times: ArrayLike<number>): number {
  const total = (times[times.length - 1] ?? 0) - (times[0] ?? 0);
  return Math.max(CUT_MS / 4, Math.min(MAX_PAUSE_MS, total / 12));
}

/** Formats a length of time: `12 s`, `3 min`, `5 h`, `2 days`. */
export function durationWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
