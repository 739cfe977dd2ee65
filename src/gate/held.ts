import { listUnsorted } from '../disk/list.ts';
import type { PinnedDirectory, ResolvedPath } from '../model/path.ts';
import type { Refusal } from '../model/verdict.ts';
import type { World } from './world.ts';

/** A folder and its destination. */
export interface Going {
  readonly path: ResolvedPath;
  readonly to: ResolvedPath;
}

/**
 * The first entry in a folder that prevents moving it: a root of the workspace, or a path protected only here or only
 * at the destination. A glob protects a place, so moving the folder around a file would evade the glob.
 */
export function heldInside(world: World, dir: PinnedDirectory, going: Going): ResolvedPath | undefined {
  const { workspace } = world;
  const levels = Math.max(workspace.protectionReach(going.path), workspace.protectionReach(going.to));
  return levels === 0 ? undefined : heldBelow(world, dir, { ...going, levels });
}

function heldBelow(
  world: World,
  dir: PinnedDirectory,
  { path, to, levels }: Going & { readonly levels: number },
): ResolvedPath | undefined {
  const { workspace } = world;
  for (const { name, kind } of listUnsorted(dir)) {
    const child = { path: workspace.child(path, name), to: workspace.child(to, name) };
    if (isHeld(world, child)) return child.path;
    if (kind !== 'directory' || levels === 1) continue;
    const inner = dir.enter(name);
    try {
      const held = heldBelow(world, inner, { ...child, levels: levels - 1 });
      if (held !== undefined) return held;
    } finally {
      inner.close();
    }
  }
  return undefined;
}

function isHeld({ workspace }: World, { path, to }: Going): boolean {
  return (
    workspace.isRoot(path) ||
    (workspace.protects(path) === undefined) !== (workspace.protects(to) === undefined)
  );
}

/** The refusal to move or delete a folder because of an entry in it. */
export function heldRefusal(action: Refusal['action'], folder: ResolvedPath, held: ResolvedPath): Refusal {
  const reason = `in it, ${held.relative} may not be ${action === 'move' ? 'moved' : 'deleted'}`;
  const detail = { kind: 'directory', reason } as const;
  return { code: 'PROTECTED', action, path: folder.given, next: 'ask_human', detail };
}
