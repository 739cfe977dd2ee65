import type { Effect } from '../model/entry.ts';
import type { World } from './world.ts';

/** The folder at the top of the file system in which a path is; undefined for a path at the top. */
function topOf(path: string): string | undefined {
  return /^(\/[^/]+)\/./.exec(path)?.[1];
}

/** Lets commands and undo reach a path outside the workspace. False if that is not possible. */
export function reachOutside({ workspace }: World, path: string): boolean {
  const top = topOf(path);
  return top !== undefined && workspace.adopt(top) === 'there';
}

/** True if a recorded path is outside the workspace: it is recorded relative to the folder at the top. */
export function isOutside(
  { key, relative }: Pick<Effect, 'key' | 'relative'>,
  roots: readonly string[],
): boolean {
  const top = topOf(key);
  return top !== undefined && key === `${top}/${relative}` && !roots.includes(top);
}
