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
import { samePlace } from '../text/match.ts';
import { type MaskedDiffOptions, maskedDiff, type UnifiedDiff } from '../text/unified.ts';
import type { World } from './world.ts';

/** What changed in a file since a session saw it. */
export interface OutsideChange {
  /** At most the policy's number of lines. */
  readonly diff: string;
  readonly truncated: boolean;
  readonly totalLines: number;
  /** Lines that the session saw and that are unchanged, in present line numbers. */
  readonly stillSeen: readonly LineRange[];
  /** `stillSeen` and the new lines that the diff shows. */
  readonly coverage: Coverage;
  /** The present number of a line that was seen, or undefined if it or its neighbours changed. */
  carryLine(line: number): number | undefined;
  /**
   * The lines that hold this anchor now, if the session saw it at the same place; see `samePlace`
   * in text/match.ts.
   */
  samePlace(anchor: string): LineRange | undefined;
}

/**
 * Compares the bytes a session saw with the present ones. Undefined if the earlier bytes are no longer cached or
 * stored, or are not text.
 */
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

/** A diff that fits into a refusal. Text cut from the quotation must not count as shown. */
function boundedDiff(before: string, now: string, bounds: MaskedDiffOptions): UnifiedDiff {
  // Lines are not shortened: a line cut here would not count as seen, and the next overwrite would be refused.
  const diff = maskedDiff(before, now, bounds);
  if (diff.text.length <= MAX_QUOTED_CHARS || bounds.maxLines <= 1) return diff;
  return boundedDiff(before, now, { ...bounds, maxLines: Math.floor(bounds.maxLines / 2) });
}

function seenAfter(sighting: Sighting, hunks: readonly Hunk[], totalBefore: number): LineRange[] {
  return mergeRanges(carryRanges(rangesOf(sighting.coverage, totalBefore), hunks));
}
