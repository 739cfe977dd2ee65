import { readSnapshot, type Snapshot } from '../../disk/read.ts';
import type { Effect } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import { sameFingerprint } from '../../model/fingerprint.ts';
import type { Notice } from '../../model/results.ts';
import type { Sighting } from '../../model/sighting.ts';
import { creditFor } from '../cure.ts';
import { outsideChange } from '../outside-change.ts';
import type { World } from '../world.ts';
import type { ShownScene } from './shown.ts';

/**
 * Stores the bytes that a change would destroy. Makes a copy, never a link, because the other server may write into the
 * file itself. A file that only moves is not destroyed.
 */
export async function keepBefore(world: World, { key, before, movedTo }: Effect): Promise<void> {
  if (before.kind !== 'file' || movedTo !== undefined) return;
  if (await world.images.has(before.fingerprint.sha256)) return;
  const snapshot = await snapshotAt(world, key);
  if (snapshot === undefined)
    throw new Fault('IO_FAILED', `cannot keep the present bytes of ${key}`, { path: key });
  await world.images.keepBytes(snapshot.bytes, snapshot.fingerprint);
}

/**
 * The notice about changes elsewhere in a file that may still be changed, and the session's sighting after the notice.
 */
export async function changedElsewhere(
  { world, ledger }: ShownScene,
  { key, before }: Effect,
): Promise<{ readonly notice: Notice; readonly credit: Sighting } | undefined> {
  if (before.kind !== 'file') return undefined;
  const sighting = await ledger.recall(key);
  if (sighting?.fingerprint === undefined) return undefined;
  if (sameFingerprint(sighting.fingerprint, before.fingerprint)) return undefined;
  const snapshot = await snapshotAt(world, key);
  const change = snapshot === undefined ? undefined : await outsideChange(world, sighting, snapshot);
  if (snapshot === undefined || change === undefined) return undefined;
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  return {
    notice: { kind: 'changed-elsewhere', diff: change.diff, truncated: change.truncated },
    credit: creditFor(world, { sighting, snapshot, change }),
  };
}

async function snapshotAt(world: World, key: string): Promise<Snapshot | undefined> {
  const outcome = world.workspace.locate(key, 'overwrite', 'parents');
  if (!outcome.ok) return undefined;
  try {
    const snapshot = await readSnapshot(outcome.located.place, { clock: world.disk.clock });
    return 'problem' in snapshot ? undefined : snapshot;
  } finally {
    outcome.located.place.dir.close();
  }
}
