import { isAbsolute, relative, resolve, sep } from 'node:path';
import type { HistoryOptions } from './history-sighting.ts';

/**
 * Resolves a path of the transcript lexically, without following links. With `paths: 'exact'`,
 * returns it as it is. Undefined for an empty path, a path with a zero byte, and a relative path
 * without an absolute working directory.
 */
export function locate(
  given: string,
  cwd: string | undefined,
  options: Pick<HistoryOptions, 'paths'>,
): string | undefined {
  if (given === '' || given.includes('\0')) return undefined;
  if (options.paths === 'exact') return given;
  if (isAbsolute(given)) return resolve(given);
  return cwd === undefined || !isAbsolute(cwd) ? undefined : resolve(cwd, given);
}

/**
 * Resolves a working directory as hosts write it: a `file:` URL, or a path, which may be relative
 * to `cwd`. Returns `cwd` if `given` is missing.
 */
export function enterDirectory(cwd: string | undefined, given: string | undefined): string | undefined {
  if (given === undefined || given === '') return cwd;
  const path = given.startsWith('file://') ? decodeAddress(given) : given;
  return path === undefined ? undefined : locate(path, cwd, {});
}

export function isInside(root: string, path: string): boolean {
  const way = relative(resolve(root), path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function decodeAddress(address: string): string | undefined {
  try {
    return decodeURIComponent(new URL(address).pathname);
  } catch (error) {
    if (error instanceof TypeError || error instanceof URIError) return undefined;
    throw error;
  }
}
