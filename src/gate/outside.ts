import { topOf } from '../model/path.ts';
import type { World } from './world.ts';

/** Lets commands and undo reach a path outside the workspace. False if that is not possible. */
export function reachOutside({ workspace }: World, path: string): boolean {
  const top = topOf(path);
  return top !== undefined && workspace.adopt(top) === 'there';
}
