import { matchingGlob } from '../text/glob/glob.ts';
import type { World } from './world.ts';

/** Folders with results of builds, in addition to those that `commands.scratch` lists. */
const OUTPUTS = ['**/dist', '**/build', '**/out', '**/coverage', '**/tmp'];
/** Files that programs make and make again. */
const MADE = /\.(?:pyc|o|class|log|tmp)$/;

/** True for a file that tools can make again: packages, caches, results of builds, logs. */
export function isOutput({ policy }: Pick<World, 'policy'>, relative: string): boolean {
  const globs = [...policy.commands.scratch, ...OUTPUTS];
  const parts = relative.split('/');
  return (
    MADE.test(relative) ||
    parts.some((_, at) => matchingGlob(globs, parts.slice(0, at + 1).join('/')) !== undefined)
  );
}
