import type { Snapshot } from '../disk/read.ts';
import {
  type Coverage,
  covers,
  type LineRange,
  linesCoverage,
  mergeRanges,
  rangesOf,
} from '../model/coverage.ts';
import type { Sighting } from '../model/sighting.ts';
import { MAX_QUOTED_CHARS } from '../report/bounded.ts';
import { carryLine, carryRanges } from '../text/carry.ts';
import { decodeText } from '../text/decode.ts';
import { diffLines, type Hunk } from '../text/diff.ts';
import { lineCount } from '../text/lines.ts';
import { type MaskedDiffOptions, maskedDiff } from '../text/masked-diff.ts';
import { samePlace } from '../text/same-place.ts';
import type { UnifiedDiff } from '../text/unified.ts';
import type { World } from './world.ts';

/** What changed in a file since a session saw it. */
export interface OutsideChange {
  /** Bounded. */
  readonly diff: string;
  readonly truncated: boolean;
  readonly totalLines: number;
  /** What the session saw and that is still the same, in today's line numbers. */
  readonly stillSeen: readonly LineRange[];
  /** That, and what the diff shows of the new text. */
  readonly coverage: Coverage;
  /** Where a line that was seen is now; undefined if it or its neighbourhood changed. */
  carryLine(line: number): number | undefined;
  /** The lines that hold this anchor now, if the session saw it in the very same place; see same-place.ts. */
  samePlace(anchor: string): LineRange | undefined;
}

/** Compares what a session saw with what is there; undefined if the earlier bytes are no longer at hand, or no text. */
export async function outsideChange(
  world: World,
  sighting: Sighting,
  snapshot: Snapshot,
): Promise<OutsideChange | undefined> {
  if (sighting.fingerprint === undefined) return undefined;
  const earlier = await world.baselines.recall(sighting.fingerprint);
  if (earlier === undefined) return undefined;
  const before = decodeText(earlier)?.text;
  const now = decodeText(snapshot.bytes)?.text;
  if (before === undefined || now === undefined) return undefined;
  const { hunks } = diffLines(before, now);
  const { maxDiffLines: maxLines, maxLineChars, secrets } = world.policy;
  const shown = boundedDiff(before, now, { maxLines, maxLineChars, secrets, path: sighting.key });
  const totalLines = lineCount(now);
  const stillSeen = seenAfter(sighting, hunks, lineCount(before));
  return {
    diff: shown.text,
    truncated: shown.truncated,
    totalLines,
    stillSeen,
    coverage: linesCoverage([...stillSeen, ...shown.shownAfter], totalLines),
    carryLine: (line) => carryLine(line, hunks),
    samePlace: (anchor) => {
      const place = samePlace(before, now, anchor);
      const ranges = rangesOf(sighting.coverage, lineCount(before));
      return place && covers({ kind: 'lines', ranges }, place.before) ? place.after : undefined;
    },
  };
}

/** No more than a refusal quotes: what is cut from the quotation must not count as shown. */
function boundedDiff(before: string, now: string, bounds: MaskedDiffOptions): UnifiedDiff {
  // A line that a read would show whole is shown whole here, or the next overwrite would be refused for it.
  const diff = maskedDiff(before, now, bounds);
  if (diff.text.length <= MAX_QUOTED_CHARS || bounds.maxLines <= 1) return diff;
  return boundedDiff(before, now, { ...bounds, maxLines: Math.floor(bounds.maxLines / 2) });
}

function seenAfter(sighting: Sighting, hunks: readonly Hunk[], totalBefore: number): LineRange[] {
  return mergeRanges(carryRanges(rangesOf(sighting.coverage, totalBefore), hunks));
}
