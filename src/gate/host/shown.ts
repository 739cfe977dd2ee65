import { isUtf8 } from 'node:buffer';
import { linesShownIn } from '../../dialect/calls/shown/output-lines.ts';
import { readSnapshot } from '../../disk/read.ts';
import { linesCoverage, NOTHING } from '../../model/coverage.ts';
import type { Delta } from '../../model/delta.ts';
import { Fault } from '../../model/fault.ts';
import { sameFingerprint } from '../../model/fingerprint.ts';
import type { OutputEvent } from '../../model/host-session.ts';
import type { Notice } from '../../model/results.ts';
import { NO_FLAGS, type Sighting } from '../../model/sighting.ts';
import { looksBinary } from '../../text/decode.ts';
import type { Located } from '../../workspace/workspace.ts';
import { foundAt, snapshotAt } from '../found.ts';
import { keepBytesOf } from '../old-bytes.ts';
import { creditFor, outsideChange } from '../prepared.ts';
import { linesOf, MAX_PROVEN_BYTES, recordView, type ShownScene } from '../shown.ts';
import type { World } from '../world.ts';

/**
 * Records lines shown in a command's output: consecutive output lines that equal present lines of a
 * file count as seen. Returns false if there are none, or if the path is not a text file in the
 * workspace. `how`: `read` if the command is the client's way to read a file.
 */
export async function witnessOutput(
  scene: ShownScene,
  { path, output, how = 'output' }: OutputEvent,
): Promise<boolean> {
  const { world } = scene;
  const record = async (located: Located): Promise<boolean> => {
    if (!located.exists || !located.stats.isFile() || located.stats.size > MAX_PROVEN_BYTES) return false;
    const snapshot = await readSnapshot(located.place, {
      clock: world.disk.clock,
      maxBytes: MAX_PROVEN_BYTES,
    });
    if ('problem' in snapshot || !isUtf8(snapshot.bytes) || looksBinary(snapshot.bytes)) return false;
    const { bytes, fingerprint, stamp, racy } = snapshot;
    const lines = linesOf(bytes);
    const ranges = linesShownIn(output, lines);
    if (ranges.length === 0) return false;
    const coverage = linesCoverage(ranges, lines.length);
    const seen = { fingerprint, stamp, racy, coverage, totalLines: lines.length, flags: NO_FLAGS };
    world.baselines.remember(fingerprint, bytes);
    const { path: place } = located.place;
    await recordView(scene, { ...seen, key: place.key, how, atMs: world.now() }, place);
    return true;
  };
  return world.workspace.at({ path, action: 'read' }, record, () => false);
}

/**
 * Stores the bytes that another program's changes are about to destroy. A file that only moves is
 * not destroyed. `here`: in a fleet, the bytes stay on this machine.
 */
export async function keepBefore(
  world: World,
  deltas: readonly Delta[],
  where: 'shared' | 'here' = 'shared',
): Promise<void> {
  for (const delta of deltas) await storeBefore(world, delta, where);
  if (world.policy.durability !== 'none') await world.images.sync();
}

async function storeBefore(
  world: World,
  { key, relative, before }: Delta,
  where: 'shared' | 'here',
): Promise<void> {
  if (before.kind !== 'file' || !before.kept) return;
  const { images } = world;
  const { sha256 } = before.fingerprint;
  const isHere = where === 'here' ? images.hasHere?.(sha256, 'rely') : undefined;
  if (await (isHere ?? images.has(sha256, 'rely'))) return;
  const { snapshot } = await foundAt(world, key);
  if (snapshot === undefined)
    throw new Fault('IO_FAILED', `cannot keep the present bytes of ${key}`, { path: key });
  const { bytes, fingerprint } = snapshot;
  const keeping = where === 'here' ? images.keepHere?.(bytes, fingerprint) : undefined;
  await (keeping ?? keepBytesOf(world, relative, snapshot));
}

export interface ChangedElsewhere {
  readonly notice: Notice;
  readonly credit: Sighting;
  readonly untold: Sighting;
}

/**
 * The notice that shows a session what another writer changed in a file since the session saw it.
 * `credit`: the lines that count as seen once the notice is sent; `untold`: until then. Undefined
 * if there are no such changes.
 */
export async function changedElsewhere(
  { world, knowledge }: ShownScene,
  { key, before }: Delta,
): Promise<ChangedElsewhere | undefined> {
  if (before.kind !== 'file') return undefined;
  const sighting = await knowledge.recall(key);
  if (sighting?.fingerprint === undefined) return undefined;
  if (sameFingerprint(sighting.fingerprint, before.fingerprint)) return undefined;
  const snapshot = await snapshotAt(world, key);
  const change = snapshot === undefined ? undefined : await outsideChange(world, sighting, snapshot);
  if (snapshot === undefined || change === undefined) return undefined;
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  const credit = creditFor(world, { sighting, snapshot, change });
  const ranges = change.stillSeen;
  return {
    notice: { kind: 'changed-elsewhere', diff: change.diff, truncated: change.truncated },
    credit,
    untold: { ...credit, coverage: ranges.length === 0 ? NOTHING : { kind: 'lines', ranges } },
  };
}
