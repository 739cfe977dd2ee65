import { listUnsorted, subfolderTest } from '../../disk/list.ts';
import type { PinnedDirectory, ResolvedPath } from '../../model/path.ts';
import { ignoredByGit, repositoryAround } from '../../process/git.ts';
import { type PathMatch, policyGlobMatcher } from '../../text/glob/glob.ts';
import type { World } from '../world.ts';

/** Deep enough for the packages of a monorepo, yet bounded in large trees. */
const MAX_DEPTH = 4;
const MAX_FOLDERS = 3000;

/**
 * Folders that commands use directly, without a layer: real folders that match the policy's list and that git ignores. A link,
 * or a folder that git does not ignore, is layered like everything else.
 */
export async function scratchFolders(world: World): Promise<readonly ResolvedPath[]> {
  const { scratch } = world.policy.commands;
  if (scratch.length === 0) return [];
  const globs = scratch.map(policyGlobMatcher);
  const matches: PathMatch = (path) => globs.some((glob) => glob(path));
  const found: ResolvedPath[] = [];
  for (const root of world.workspace.roots) {
    if (repositoryAround(root) === undefined) continue;
    const candidates = candidatesIn(world, root, matches);
    const ignored = await ignoredByGit(
      root,
      candidates.map(({ relative }) => relative),
    );
    found.push(...candidates.filter(({ relative }) => ignored.has(relative)));
  }
  return found;
}

function candidatesIn(world: World, root: string, matches: PathMatch): ResolvedPath[] {
  const outcome = world.workspace.locate(root, 'run');
  if (!outcome.ok || !outcome.located.exists) return [];
  const { place } = outcome.located;
  const found: ResolvedPath[] = [];
  let left = MAX_FOLDERS;
  const hasFolders = subfolderTest(place.dir);
  const search = (dir: PinnedDirectory, path: ResolvedPath, depth: number): void => {
    for (const { name, kind } of listUnsorted(dir)) {
      if (kind !== 'directory' || name === '.git' || left <= 0) continue;
      left -= 1;
      const child = world.workspace.child(path, name);
      if (matches(child.relative)) found.push(child);
      else if (depth < MAX_DEPTH && hasFolders(dir, name))
        within(dir, name, (inner) => search(inner, child, depth + 1));
    }
  };
  try {
    search(place.dir, place.path, 1);
  } finally {
    place.dir.close();
  }
  return found;
}

/** Runs `work` in a subfolder. If it is gone or became a link meanwhile, it holds no scratch folder and is skipped. */
function within(dir: PinnedDirectory, name: string, work: (inner: PinnedDirectory) => void): void {
  let inner: PinnedDirectory;
  try {
    inner = dir.enter(name);
  } catch {
    return;
  }
  try {
    work(inner);
  } finally {
    inner.close();
  }
}
