import { hostname, networkInterfaces } from 'node:os';
import { isAbsolute, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requiredHome, userHome } from '../config/home.ts';
import type { ServerTable } from '../dialect/calls/table.ts';

/** The facts that determine which file the upstream opens for a path. */
export interface UpstreamLocation {
  /** The canonical first root of our workspace; our own relative paths start there. */
  readonly root: string;
  /** The upstream's working directory. */
  readonly cwd: string;
  /** True for a server on another machine. */
  readonly remote: boolean;
}

/**
 * The path to forward, so that the upstream opens the file that we judged: absolute and without
 * `..`, because servers start relative paths in different folders, some follow links before they
 * apply `..`, and most do not accept URLs as paths. A remote server, and one that accepts only
 * relative paths, gets the path unchanged.
 */
export function forwardedPath(
  path: string,
  table: ServerTable,
  { root, cwd, remote }: UpstreamLocation,
): string {
  const isPlain = isAbsolute(path) && !climbs(path);
  if (isPlain || remote || table.onlyRelative === true) return path;
  const placed = upstreamPath(path, { ...table, cwd });
  return isAbsolute(placed) ? normalize(placed) : join(root, placed);
}

function climbs(path: string): boolean {
  return path.includes('..') && path.split(/[/\\]/).includes('..');
}

/** True if the host of a URL is another machine, which does not see the same files. */
export function isRemote(url: string): boolean {
  return !isThisMachine(new URL(url).hostname);
}

function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || name.startsWith('127.')) return true;
  if (name === hostname().toLowerCase()) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === name));
}

/** The upstream server's interpretation of a path. */
interface UpstreamPathRules {
  readonly relativeTo: ServerTable['relativeTo'];
  readonly expandsHome: boolean;
  /** The upstream's working directory. */
  readonly cwd: string;
}

/**
 * The path that our session must judge: the one that the upstream will open. A path relative to the
 * root stays unchanged.
 */
export function upstreamPath(path: string, reading: UpstreamPathRules): string {
  if (isFileAddress(path)) return fromFileUrl(path);
  if (reading.expandsHome && isHomePath(path)) return join(requiredHome(userHome()), path.slice(1));
  // Servers that accept an empty path take it as the folder itself.
  if (isAbsolute(path) || reading.relativeTo === 'root') return path === '' ? '.' : path;
  return join(reading.cwd, path);
}

function isFileAddress(path: string): boolean {
  return /^file:/i.test(path);
}

/** True for `~` and for paths that begin with `~/`. Some servers replace the `~` by the home folder. */
function isHomePath(path: string): boolean {
  return path === '~' || path.startsWith('~/');
}

function fromFileUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    // The URL names another host or contains an encoded slash. Some servers use its path all the same.
    return URL.canParse(url) ? new URL(url).pathname : url;
  }
}
