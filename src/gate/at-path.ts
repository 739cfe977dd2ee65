import { type Conflict, conflict } from '../disk/replace.ts';
import type { Place, ResolvedPath } from '../model/path.ts';
import type { World } from './world.ts';

/**
 * Resolves a path again that was vetted before, and runs an action there. Returns a conflict if the path can no longer
 * be reached.
 */
export async function atPath<T>(
  world: World,
  path: ResolvedPath,
  work: (place: Place) => T | Promise<T>,
): Promise<T | Conflict> {
  const outcome = world.workspace.locate(path.absolute, 'undo', 'parents');
  if (!outcome.ok) return conflict('changed');
  const { place } = outcome.located;
  try {
    return place.path.key === path.key ? await work(place) : conflict('changed');
  } finally {
    place.dir.close();
  }
}
