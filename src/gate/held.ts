import { listUnsorted } from '../disk/list.ts';
import type { PinnedDirectory, ResolvedPath } from '../model/path.ts';
import type { Refusal } from '../model/verdict.ts';
import type { World } from './world.ts';

/** A folder, and where it would go. */
export interface Going {
  readonly path: ResolvedPath;
  readonly to: ResolvedPath;
}

/**
 * The first thing in a folder that keeps it where it is: a root of the workspace, or something that is protected only here,
 * or only where it would come to lie. A glob about a place says nothing of the same file at another: moving what is
 * around it would lead past it.
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

/** A folder may not go because of what is in it. */
export function heldRefusal(action: Refusal['action'], folder: ResolvedPath, held: ResolvedPath): Refusal {
  const reason = `in it, ${held.relative} may not be ${action === 'move' ? 'moved' : 'deleted'}`;
  const detail = { kind: 'directory', reason } as const;
  return { code: 'PROTECTED', action, path: folder.given, next: 'ask_human', detail };
}
