import { policyGlobMatcher } from '../text/glob/glob.ts';
import type { World } from './world.ts';

/** Folders with results of builds, in addition to those that `commands.scratch` lists. */
const OUTPUTS = ['**/dist', '**/build', '**/out', '**/coverage', '**/tmp'];
/** Files that programs make and make again. */
const MADE = /\.(?:pyc|o|class|log|tmp)$|(?:^|\/)(?:\.DS_Store|Thumbs\.db)$/;

/** True for a file that programs make beside other files and make again, such as a log. */
export function isMadeBeside(path: string): boolean {
  return MADE.test(path);
}

/**
 * The test that is true for a file that tools can make again: packages, caches, results of builds,
 * logs. Paths are relative to a root. Remembers folders, so a caller uses one test for many files.
 */
export function outputTest({ policy }: Pick<World, 'policy'>): (relative: string) => boolean {
  const matchers = [...policy.commands.scratch, ...OUTPUTS].map(policyGlobMatcher);
  const known = new Map<string, boolean>();
  const isOutput = (path: string): boolean => {
    const slash = path.lastIndexOf('/');
    return (slash > 0 && isFolderOfOutput(path.slice(0, slash))) || matchers.some((matches) => matches(path));
  };
  const isFolderOfOutput = (folder: string): boolean => {
    const found = known.get(folder) ?? isOutput(folder);
    known.set(folder, found);
    return found;
  };
  return (relative) => isMadeBeside(relative) || isOutput(relative);
}
