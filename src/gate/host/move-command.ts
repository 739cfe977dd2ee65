import { LIMITS } from '../../model/limits.ts';
import type { World } from '../world.ts';

/**
 * Records where an announced command runs: on a layer (a private copy-on-write view of the
 * workspace), or directly in the workspace. Returns false if nothing was recorded: the command is
 * not pending, its record already says `to`, or its lock is not free.
 */
export async function moveCommand(world: World, change: string, to: 'layer' | 'workspace'): Promise<boolean> {
  const release = await world.locks.acquire([`${world.home}/layers/${change}`], LIMITS.lockTimeoutMs);
  if (release === undefined) return false;
  try {
    const [pending] = await world.store.pending({ change });
    if (pending?.host?.command === undefined) return false;
    const { onLayer, ...command } = pending.host.command;
    if ((onLayer === true) === (to === 'layer')) return false;
    const moved = to === 'layer' ? { ...command, onLayer: true as const } : command;
    const host = { ...pending.host, command: moved };
    await world.store.record({ ifPending: change, announce: { ...pending, host } });
    return true;
  } finally {
    release();
  }
}
