import { ABSENT, type Delta } from '../../model/delta.ts';
import type { Located } from '../../workspace/workspace.ts';
import { sideAt } from '../found.ts';
import { readTree, type TreeNode } from '../tree.ts';
import type { World } from '../world.ts';

/**
 * Maximum number of entries of a folder to record. A folder with more is recorded without its
 * contents, and an undo cannot remove it.
 */
const MAX_MADE = 10_000;

/**
 * Deltas for the contents of a folder that a program made, for example by a copy. Without them, an
 * undo could not remove the folder. If some content is protected or cannot be read, the folder is
 * recorded without contents.
 */
export async function deltasBelow(world: World, key: string): Promise<Delta[]> {
  try {
    const deltas: Delta[] = [];
    for (const { path } of nodesBelow(world, key)) {
      const after = await sideAt(world, path.key);
      deltas.push({ key: path.key, relative: path.relative, before: ABSENT, after });
    }
    return deltas;
  } catch {
    // Ignore the error: the change itself must be recorded in any case.
    return [];
  }
}

/** Everything in a folder, each folder before its contents. Empty if there are too many entries. */
function nodesBelow(world: World, key: string): TreeNode[] {
  const read = ({ place }: Located): TreeNode[] => {
    const dir = place.dir.enter(place.name);
    try {
      const [, ...inside] = readTree(world, dir, place.path).reverse();
      return inside.length > MAX_MADE ? [] : inside;
    } finally {
      dir.close();
    }
  };
  return world.workspace.atOnce({ path: key, action: 'undo', links: 'parents' }, read, () => []);
}
