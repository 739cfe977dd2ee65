import type { Policy } from '../model/policy.ts';
import type { How, Sighting } from '../model/sighting.ts';

/** The ways to learn a file that show it without being a read or a change of it. */
const MERE_VIEWS: ReadonlySet<How> = new Set(['output', 'cure']);

/**
 * True if a view may be recorded. If a read of any part allows an overwrite, only reads and the
 * session's own changes count. There, a search hit or a command's output never counts, and a diff
 * counts only for a file that the session has read already.
 */
export function countsAsView(
  next: Sighting,
  old: Sighting | undefined,
  { seen, overwrite }: Pick<Policy, 'seen' | 'overwrite'>,
): boolean {
  if (seen === 'optional' || overwrite === 'whole' || !MERE_VIEWS.has(next.how)) return true;
  return next.how === 'cure' && old !== undefined && isInContext(old);
}

/** True if the model still has what it was shown of the file. */
function isInContext({ coverage, flags, lost, tombstone }: Sighting): boolean {
  return lost === undefined && tombstone !== true && (coverage.kind !== 'none' || flags.notText);
}
