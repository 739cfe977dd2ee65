import { readSnapshot } from '../disk/read.ts';
import { stampOf } from '../disk/stats.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import type { Notice } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Outcome } from '../model/verdict.ts';
import type { World } from './world.ts';

/** Names in one notice; the rest is a number. */
const MAX_NAMED = 20;

/** Which of the files a session has seen are no longer as it saw them; asked after a command that may have changed any. */
export async function sweep(world: World, ledger: Ledger): Promise<Outcome<{ notices: readonly Notice[] }>> {
  const changed: string[] = [];
  for (const sighting of await ledger.all()) {
    const name = sighting.how === 'listing' ? undefined : await changedName(world, sighting);
    if (name !== undefined) changed.push(name);
  }
  if (changed.length === 0) return { ok: true, notices: [] };
  const paths = changed.sort().slice(0, MAX_NAMED);
  return { ok: true, notices: [{ kind: 'changed-seen-files', paths, cut: changed.length - paths.length }] };
}

/** The file's name if it changed or is gone. A stamp that differs only leads to the hash. */
async function changedName(world: World, sighting: Sighting): Promise<string | undefined> {
  const outcome = world.workspace.locate(sighting.key, 'status');
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  const name = located.place.path.relative;
  try {
    if (!located.exists || !located.stats.isFile()) return name;
    if (sighting.stamp && !sighting.racy && sameStamp(sighting.stamp, stampOf(located.stats)))
      return undefined;
    if (sighting.fingerprint === undefined) return name;
    const snapshot = await readSnapshot(located.place, { clock: world.disk.clock });
    if ('problem' in snapshot) return name;
    return sameFingerprint(snapshot.fingerprint, sighting.fingerprint) ? undefined : name;
  } finally {
    located.place.dir.close();
  }
}
