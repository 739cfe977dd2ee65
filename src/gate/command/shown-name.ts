import type { ResolvedPath } from '../../model/path.ts';
import type { World } from '../world.ts';

type NamedPath = Pick<ResolvedPath, 'root' | 'relative' | 'absolute'>;

/**
 * The name of a path in a root. A worktree has no `.git` folder, so paths in its common git folder are named `.git/…`.
 */
export function nameOf({ workspace }: World, { root, relative }: NamedPath): string {
  return workspace.gitFolders.includes(root) ? `.git/${relative}` : relative;
}

/**
 * Like `nameOf`, but for messages to the agent: the path is absolute unless it is in the first root. Do not match globs
 * against this name.
 */
export function shownNameOf(world: World, path: NamedPath): string {
  return world.workspace.shown({ ...path, relative: nameOf(world, path) });
}
