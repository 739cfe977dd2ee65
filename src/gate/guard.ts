import { containsAt } from '../disk/content.ts';
import { toolGuard } from '../judge/guarded-configuration.ts';
import type { PinnedDirectory, ResolvedPath } from '../model/path.ts';
import { matchingGlob } from '../text/glob/glob.ts';
import type { World } from './world.ts';

/** The word that every entry written by `lookfirst init` contains. */
const OWN_NAME = 'lookfirst';

/** A name in a folder, which may be free. */
interface NamedEntry {
  readonly dir: PinnedDirectory;
  readonly name: string;
  readonly path: ResolvedPath;
}

/**
 * The reason why only the user may change a file that decides which programs run; undefined if a
 * session may.
 */
export function guardOf({ policy }: World, { dir, name, path }: NamedEntry): string | undefined {
  const { relative } = path;
  const guard = toolGuard(relative);
  if (guard === undefined || matchingGlob(policy.commands.trust, relative) !== undefined) return undefined;
  if (guard === 'always') return `${relative}, because it decides which programs run`;
  const isOurs = containsAt({ dir, name }, OWN_NAME, policy.maxEditBytes);
  return isOurs ? `${relative}, because it holds the configuration of Lookfirst` : undefined;
}
