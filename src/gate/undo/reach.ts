import type { UndoDelta } from '../../journal/undo-steps.ts';
import type { World } from '../world.ts';

/**
 * Lets an undo reach the other worktrees in which a command has changed or removed files. Makes the
 * folder of a worktree that is gone, and returns the folders made.
 */
export function reachWorktrees({ workspace }: World, steps: readonly UndoDelta[]): readonly string[] {
  const tops = steps.flatMap(({ key, relative }) => {
    const { root } = workspace.pathOf(key) ?? {};
    const isInside = root !== undefined && workspace.roots.includes(root);
    return isInside || !key.endsWith(`/${relative}`) ? [] : [key.slice(0, -relative.length - 1)];
  });
  return [...new Set(tops)].filter((top) => workspace.adopt(top, 'make') === 'made');
}
