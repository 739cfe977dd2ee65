import type { World } from '../world.ts';

/**
 * Records that a command runs on a layer: a private copy-on-write view of the workspace. Returns
 * false if the command is not pending or already runs on a layer.
 */
export async function moveToLayer(world: World, change: string): Promise<boolean> {
  const release = await world.locks.acquire([`${world.home}/layers/${change}`], world.policy.lockTimeoutMs);
  if (release === undefined) return false;
  try {
    const [pending] = await world.store.pending({ change });
    const command = pending?.foreign?.command;
    if (pending?.foreign === undefined || command === undefined || command.onLayer === true) return false;
    const foreign = { ...pending.foreign, command: { ...command, onLayer: true as const } };
    await world.store.record({ ifPending: change, announce: { ...pending, foreign } });
    return true;
  } finally {
    release();
  }
}
