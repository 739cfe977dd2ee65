import type { Snapshot } from '../disk/read.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Refusal } from '../model/verdict.ts';
import type { LookedFile } from './look.ts';
import { type OutsideChange, outsideChange } from './outside-change.ts';
import { notPrepared, type Prepared } from './prepared.ts';
import type { World } from './world.ts';

/**
 * Adds to a STALE refusal the diff since the file was seen. Lines in the diff count as seen, so the next try needs no
 * read. The refused content stays refused, since it was written without that knowledge. Under `cure: reread` the diff
 * is shown, but only a read permits the change.
 */
export async function cure(
  world: World,
  view: LookedFile,
  refused: { readonly refusal: Refusal; readonly contentHash?: string },
): Promise<Prepared> {
  const { sighting, snapshot } = view;
  if (sighting === undefined || snapshot === undefined) return notPrepared(refused.refusal);
  const change = await outsideChange(world, sighting, snapshot);
  if (change === undefined) return notPrepared(refused.refusal);
  const credit = creditFor(world, { sighting, snapshot, change });
  const content = refused.contentHash === undefined ? {} : { refusedContent: refused.contentHash };
  const whole = change.coverage.kind === 'whole' && !sighting.flags.clamped && !sighting.flags.redacted;
  const detail = {
    ...refused.refusal.detail,
    ...(change.diff === '' ? {} : { diff: change.diff }),
    ...(whole && world.policy.cure === 'diff' ? { revision: world.revisionOf(snapshot.fingerprint) } : {}),
  };
  const refusal = { ...refused.refusal, detail };
  if (world.policy.cure === 'reread') return notPrepared(refusal);
  // A diff too large to show any present line counts as nothing seen; only a read helps then.
  if (change.coverage.kind === 'none') return notPrepared(refusal);
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  return notPrepared(refusal, { ...credit, ...content });
}

/** The session's sighting of the present file after the diff was shown. */
export function creditFor(
  world: World,
  { sighting, snapshot, change }: { sighting: Sighting; snapshot: Snapshot; change: OutsideChange },
): Sighting {
  return {
    key: sighting.key,
    fingerprint: snapshot.fingerprint,
    stamp: snapshot.stamp,
    racy: snapshot.racy,
    coverage: change.coverage,
    totalLines: change.totalLines,
    flags: sighting.flags,
    how: 'cure',
    atMs: world.now(),
  };
}
