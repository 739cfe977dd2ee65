import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServerTable } from '../dialect/calls/table.ts';

/** How the upstream server interprets a path. */
export interface PathReading {
  readonly relativeTo: ServerTable['relativeTo'];
  readonly expandsHome: boolean;
  /** The upstream's working directory. */
  readonly cwd: string;
}

/**
 * The path our session must judge: the one the upstream will open. A different interpretation would
 * allow an escape. Paths relative to the root are passed to the session unchanged.
 */
export function upstreamPath(path: string, reading: PathReading): string {
  if (isFileAddress(path)) return fromFileUrl(path);
  if (reading.expandsHome && isHomePath(path)) return join(homedir(), path.slice(1));
  // Servers that accept an empty path take it as the folder itself.
  if (isAbsolute(path) || reading.relativeTo === 'root') return path === '' ? '.' : path;
  return join(reading.cwd, path);
}

export function isFileAddress(path: string): boolean {
  return /^file:\/\//i.test(path);
}

/** True for a path relative to the home folder, for servers that expand it. */
export function isHomePath(path: string): boolean {
  return path === '~' || path.startsWith('~/');
}

function fromFileUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    // Not a URL of a local file: judge it as a relative name.
    return url;
  }
}
