import { fingerprintOfRetained, listRetained } from '../disk/retained.ts';
import { recoverChanges } from '../journal/recovery.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { sideAt } from './side-at.ts';
import type { World } from './world.ts';

/**
 * Settles the changes of processes that died in the middle: what was done goes into the journal, with the before-image
 * that may still lie among the displaced files; what was not done is forgotten.
 */
export async function recoverWorld(world: World, isAlive: (owner: string) => boolean): Promise<void> {
  const orphans = (await world.store.pending()).filter((pending) => !isAlive(pending.owner));
  if (orphans.length === 0) return;
  for (const { entry } of orphans) {
    for (const { before } of entry.effects ?? []) {
      if (before.kind === 'file') await findImage(world, before.fingerprint);
    }
  }
  await recoverChanges({ store: world.store, isAlive, sideOf: (key) => sideAt(world, key), now: world.now });
}

async function findImage(world: World, wanted: Fingerprint): Promise<void> {
  if (await world.images.has(wanted.sha256)) return;
  for (const retained of listRetained(world.disk)) {
    if (retained.size !== wanted.size || fingerprintOfRetained(retained).sha256 !== wanted.sha256) continue;
    await world.images.adopt(retained.file, wanted);
    return;
  }
}
