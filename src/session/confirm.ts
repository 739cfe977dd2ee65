import { readSnapshot } from '../disk/read.ts';
import type { World } from '../gate/world.ts';
import { sameFingerprint } from '../model/fingerprint.ts';
import type { Sighting } from '../model/sighting.ts';

/** Whether the bytes of a sighting are on the disk now. Only the hash counts as proof. */
export async function confirms(world: World, sighting: Sighting): Promise<boolean> {
  if (sighting.fingerprint === undefined || sighting.how === 'listing') return false;
  const outcome = world.workspace.locate(sighting.key, 'status');
  if (!outcome.ok) return false;
  const { located } = outcome;
  try {
    if (!located.exists) return false;
    const snapshot = await readSnapshot(located.place, { clock: world.disk.clock });
    return !('problem' in snapshot) && sameFingerprint(snapshot.fingerprint, sighting.fingerprint);
  } finally {
    located.place.dir.close();
  }
}
