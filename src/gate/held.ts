import { listUnsorted } from '../disk/list.ts';
import type { PinnedDirectory, ResolvedPath } from '../model/path.ts';
import type { Refusal } from '../model/verdict.ts';
import type { Asking } from './announce.ts';
import { departureGuard } from './guarded-files.ts';
import type { World } from './world.ts';

/**
 * At least this many levels below a moved folder are searched for entries that must stay. With 4
 * levels, a move of `packages` finds `packages/one/.claude/settings.json`.
 */
const PROJECT_LEVELS = 4;

/** A folder that a session wants to delete, or to move to `to`. */
export interface DepartingFolder {
  readonly path: ResolvedPath;
  readonly to?: ResolvedPath;
  readonly asking: Asking;
}

/**
 * The first entry in a folder that prevents moving or deleting it: a root of the workspace, a
 * protected path, or a file that only the user may change. A move may take along a path that is
 * protected at both its old and its new place. Names inside a protected folder are not disclosed.
 */
export async function heldInside(
  world: World,
  dir: PinnedDirectory,
  departing: DepartingFolder,
): Promise<ResolvedPath | undefined> {
  const isGuarded = await departureGuard(world);
  return heldBelow(world, dir, { ...departing, levels: levelsOf(world, departing), isGuarded });
}

/**
 * The number of folder levels to search. A delete searches all, because it reads the whole folder.
 * A move is one rename, so it searches only as deep as the protecting globs can match, and at least
 * `PROJECT_LEVELS`.
 */
function levelsOf({ workspace }: World, { path, to }: DepartingFolder): number {
  if (to === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(PROJECT_LEVELS, workspace.protectionReach(path), workspace.protectionReach(to));
}

interface Searched extends DepartingFolder {
  readonly levels: number;
  readonly isGuarded: Awaited<ReturnType<typeof departureGuard>>;
}

function heldBelow(world: World, dir: PinnedDirectory, departing: Searched): ResolvedPath | undefined {
  const { workspace } = world;
  const levels = departing.levels - 1;
  for (const { name, kind } of listUnsorted(dir)) {
    const path = workspace.child(departing.path, name);
    const child = {
      ...departing,
      path,
      levels,
      ...(departing.to && { to: workspace.child(departing.to, name) }),
    };
    if (isHeld(world, child) || departing.isGuarded({ ...child, dir, name })) return path;
    if (kind !== 'directory' || levels === 0) continue;
    const inner = dir.enter(name);
    try {
      const held = heldBelow(world, inner, child);
      if (held !== undefined) return held;
    } finally {
      inner.close();
    }
  }
  return undefined;
}

function isHeld({ workspace }: World, { path, to }: DepartingFolder): boolean {
  if (workspace.isRoot(path)) return true;
  const isProtected = workspace.protects(path) !== undefined;
  return to === undefined ? isProtected : isProtected !== (workspace.protects(to) !== undefined);
}

/** The refusal to move or delete a folder because of an entry in it. */
export function heldRefusal(action: Refusal['action'], folder: ResolvedPath, held: ResolvedPath): Refusal {
  const reason = `it contains ${held.relative}, which may not be ${action === 'move' ? 'moved' : 'deleted'}`;
  const detail = { kind: 'directory', reason } as const;
  return { code: 'PROTECTED', action, path: folder.given, next: 'ask_human', detail };
}
