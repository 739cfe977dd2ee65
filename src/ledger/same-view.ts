import { sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';

/** So much earlier a file may count as the one seen longest ago. */
export const SAME_MOMENT_MS = 1000;

/** Does a whole view only repeat what was known less than so long ago? Then it need not be stored again; most second reads are such. */
export function isSameView(old: Sighting | undefined, next: Sighting, withinMs: number): boolean {
  return (
    old !== undefined &&
    next.atMs - old.atMs < withinMs &&
    old.coverage.kind === 'whole' &&
    next.coverage.kind === 'whole' &&
    old.how === next.how &&
    old.flags === next.flags &&
    old.racy === next.racy &&
    old.totalLines === next.totalLines &&
    old.refusedContent === next.refusedContent &&
    old.heldBack === undefined &&
    hasSameBytes(old, next)
  );
}

function hasSameBytes(old: Sighting, next: Sighting): boolean {
  if (old.fingerprint === undefined || next.fingerprint === undefined) return false;
  if (old.stamp === undefined || next.stamp === undefined) return false;
  return sameFingerprint(old.fingerprint, next.fingerprint) && sameStamp(old.stamp, next.stamp);
}
