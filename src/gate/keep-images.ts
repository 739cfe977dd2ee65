import type { Displaced } from './step.ts';
import type { World } from './world.ts';

/** Makes before-images of the files a change has displaced. They are out of the workspace already, so only names move. */
export async function keepImages(world: World, displaced: readonly Displaced[]): Promise<void> {
  for (const { file, sha256, size, bytes } of displaced) {
    await world.images.adopt(file, { sha256, size }, { durability: 'none', bytes });
    world.baselines.kept(sha256);
  }
  if (world.policy.durability === 'full') await world.images.sync(displaced.map(({ sha256 }) => sha256));
}
