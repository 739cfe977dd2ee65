import type { DiskContext } from '../../src/disk/context.ts';
import { type Recovered, type Recovery, recover } from '../../src/disk/recover.ts';
import type { Workspace } from '../../src/workspace/workspace.ts';

/** Cleans up after killed processes, as the next start does when no other process is alive. */
export function recoverAll(workspace: Workspace, context: DiskContext, home: string): Recovered {
  return recover(context, {
    home,
    isAlive: (owner) => owner === 'us',
    enter: (dir) => enter(workspace, dir),
  });
}

function enter(workspace: Workspace, dir: string): ReturnType<Recovery['enter']> {
  const outcome = workspace.locate(`${dir}/any`, 'status', 'parents');
  if (!outcome.ok) return 'elsewhere';
  const { place } = outcome.located;
  if (outcome.located.exists || outcome.located.missing.length === 1) return place.dir;
  place.dir.close();
  return 'gone';
}
