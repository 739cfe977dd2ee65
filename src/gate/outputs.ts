import { matchingGlob } from '../text/glob/glob.ts';
import type { World } from './world.ts';

/** Folders with results of builds, in addition to those that `commands.scratch` lists. */
const OUTPUTS = ['**/dist', '**/build', '**/out', '**/coverage', '**/tmp'];
/** Files that programs make and make again. */
const MADE = /\.(?:pyc|o|class|log|tmp)$|(?:^|\/)(?:\.DS_Store|Thumbs\.db)$/;

/** True for a file that programs make beside other files and make again, such as a log. */
export function isMadeBeside(path: string): boolean {
  return MADE.test(path);
}

/** True for a file that tools can make again: packages, caches, results of builds, logs. */
export function isOutput({ policy }: Pick<World, 'policy'>, relative: string): boolean {
  const globs = [...policy.commands.scratch, ...OUTPUTS];
  const parts = relative.split('/');
  return (
    isMadeBeside(relative) ||
    parts.some((_, at) => matchingGlob(globs, parts.slice(0, at + 1).join('/')) !== undefined)
  );
}
