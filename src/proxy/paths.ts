import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServerTable } from '../dialect/calls/table.ts';

/** How the upstream server reads a path. */
export interface PathReading {
  readonly relativeTo: ServerTable['relativeTo'];
  readonly expandsHome: boolean;
  /** The upstream's working directory. */
  readonly cwd: string;
}

/**
 * The path our session must judge, so that it is the one the upstream will open: a path we read otherwise than the
 * upstream does would be a way out. Paths relative to the root go to the session as they are.
 */
export function upstreamPath(path: string, reading: PathReading): string {
  if (isFileAddress(path)) return fromFileUrl(path);
  if (reading.expandsHome && isHomePath(path)) return join(homedir(), path.slice(1));
  // An empty path is the place itself to servers that take one.
  if (isAbsolute(path) || reading.relativeTo === 'root') return path === '' ? '.' : path;
  return join(reading.cwd, path);
}

export function isFileAddress(path: string): boolean {
  return /^file:\/\//i.test(path);
}

/** A path that starts at the home folder, for servers that know it. */
export function isHomePath(path: string): boolean {
  return path === '~' || path.startsWith('~/');
}

function fromFileUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    // Not a URL of a local file: judged as the odd relative name that it is.
    return url;
  }
}
