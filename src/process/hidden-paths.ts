import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../model/fault.ts';
import type { HiddenPath } from './sandbox.ts';

/**
 * The existing paths of a list that must be hidden. `~/` at the start means the user's home folder.
 * A path that cannot be inspected is left out, because the command could not read it either.
 */
export function hiddenPaths(paths: readonly string[], homeFolder: string | undefined): HiddenPath[] {
  return paths.flatMap((path) => {
    const absolute = path.startsWith('~/') ? homeFolder && join(homeFolder, path.slice(2)) : path;
    const hidden = absolute === undefined ? undefined : hiddenPath(absolute);
    return hidden === undefined ? [] : [hidden];
  });
}

function hiddenPath(path: string): HiddenPath | undefined {
  try {
    const real = realpathSync.native(path);
    return { path: real, kind: statSync(real).isDirectory() ? 'folder' : 'file' };
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
