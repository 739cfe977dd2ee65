import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../model/errno.ts';
import type { HiddenPath } from './sandbox.ts';

/** Variables that a confined command gets; everything else may hold a token. */
const PASSED = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|NO_COLOR|TZ|CI)$/;

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of a confined command: the harmless variables, and those that the policy names. */
export function confinedEnvironment(env: Environment, named: readonly string[]): Environment {
  const passed = Object.entries(env).filter(([name]) => PASSED.test(name) || named.includes(name));
  return { ...Object.fromEntries(passed), TMPDIR: '/tmp' };
}

/**
 * What to hide of a list of paths, of which `~/` begins the user's home folder. A path that does not exist needs no hiding;
 * one that cannot be looked at is nothing the command could read either.
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
