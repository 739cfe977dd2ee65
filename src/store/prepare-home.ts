import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { errnoOf, errorText, Fault, HOME_CURE, isMissing, isTaken } from '../model/fault.ts';

/**
 * Permission bit: all users may write. The group's bit does not count, because on most systems each
 * user has a private group.
 */
const WRITABLE_BY_OTHERS = 0o002;
const OPEN_TO_OTHERS = 0o077;
/** Names of Lookfirst's files in the state folder. */
const OWN_NAMES =
  /^(lookfirst\.|(blobs|clock|compiled|images|layers|lock-files|lock-ranges|locks|outputs|ready|retained|snapshots|spent-layers|writers)$)/;
/**
 * Names of Lookfirst's folders that other programs use too. They count as Lookfirst's own only
 * beside its database or key.
 */
const COMMON_NAMES = /^(bin|clients|run)$/;

/**
 * Makes the state folder, private to its user, and returns its canonical path. If the folder
 * contains files of other programs, it keeps its permissions, but must not be writable for other
 * users. Throws a Fault if the folder cannot be used, or if its path is relative.
 */
export function prepareHome(path: string): string {
  if (typeof path !== 'string' || !isAbsolute(path))
    throw new Fault(
      'CONFIG_INVALID',
      `the state folder must be an absolute path, not ${JSON.stringify(path)}`,
    );
  try {
    makeFolder(path);
    const canonical = realpathSync.native(path);
    makePrivate(canonical);
    return canonical;
  } catch (error) {
    throw unusableHome(path, error);
  }
}

/** Throws a Fault if a file stands at the state folder's path or above it, or if the path cannot be checked. */
export function requireHomeFolder(path: string): void {
  const found = statsOfHome(path);
  if (found?.isDirectory() === false)
    throw new Fault('CONFIG_INVALID', `the state folder ${path} is a file; ${HOME_CURE}`, { path });
}

function statsOfHome(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw unusableHome(path, error);
  }
}

/** The Fault for an error in the state folder, such as a missing permission. */
export function unusableHome(path: string, cause: unknown): Fault {
  const message = `the state folder cannot be used: ${path} (${errnoOf(cause) ?? errorText(cause)}); ${HOME_CURE}`;
  return new Fault('STORE_FAILED', message, { cause, path });
}

function makePrivate(folder: string): void {
  // Windows has no permission bits.
  const mode = process.platform === 'win32' ? 0 : statSync(folder).mode;
  if ((mode & OPEN_TO_OTHERS) === 0) return;
  if (isAllOurs(readdirSync(folder))) chmodSync(folder, 0o700);
  else if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw new Error('other users may write to it, and it contains other files');
}

function isAllOurs(names: readonly string[]): boolean {
  const isState = names.some((name) => name.startsWith('lookfirst.'));
  return names.every((name) => OWN_NAMES.test(name) || (isState && COMMON_NAMES.test(name)));
}

/**
 * Makes a private folder (0700) and its parents. Does not use Node's recursive `mkdir`, which never
 * returns on a file system that reports every new name as missing, such as /proc.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (isTaken(error) && statSync(path).isDirectory()) return;
    const above = dirname(path);
    if (!isMissing(error) || above === path) throw error;
    makeFolder(above);
    makeOne(path);
  }
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Ignore the error if another process has made the folder first.
    if (!isTaken(error) || !statSync(path).isDirectory()) throw error;
  }
}

/**
 * Makes a file that every process of the state folder shares. It gets its name only when it is
 * complete. If two processes make it at the same time, the first one's stays.
 */
export function makeOnce(file: string, bytes: string | Uint8Array): void {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, bytes, { flag: 'wx', mode: 0o600 });
    linkSync(draft, file);
  } catch (error) {
    if (!isTaken(error)) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Facts about a state folder that can be read without changing it. */
interface HomeReport {
  readonly exists: boolean;
  readonly writable: boolean;
  /** True if only the folder's owner can read it. Always true on systems without permission bits. */
  readonly isPrivate: boolean;
  readonly freeBytes: number;
  /** Names of databases that were set aside because they were damaged, or too old. */
  readonly setAside: readonly string[];
}

/** Inspects a state folder. If it does not exist or cannot be read, inspects the nearest readable parent. */
export function inspectHome(home: string): HomeReport {
  const stats = statsOf(home);
  const place = stats === undefined ? existingAbove(home) : home;
  const { bavail, bsize } = statfsSync(place);
  return {
    exists: stats !== undefined,
    writable: statsOf(place)?.isDirectory() === true && canWrite(place),
    isPrivate: stats === undefined || process.platform === 'win32' || (stats.mode & 0o077) === 0,
    freeBytes: bavail * bsize,
    setAside: stats === undefined ? [] : setAsideIn(home),
  };
}

function setAsideIn(home: string): readonly string[] {
  try {
    return readdirSync(home).filter((name) => /^lookfirst\.db\.(?:damaged|older)-\w+$/.test(name));
  } catch {
    // Ignore the error: this list is only extra information.
    return [];
  }
}

function existingAbove(path: string): string {
  let place = dirname(path);
  while (statsOf(place) === undefined && dirname(place) !== place) place = dirname(place);
  return place;
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // A part of the path is a file or an unreadable folder.
    return undefined;
  }
}

function canWrite(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    // The folder is not usable, whatever the error was.
    return false;
  }
}

/**
 * The text of a policy file, or undefined if there is none. A file that exists but cannot be read is a Fault
 * CONFIG_INVALID: ignoring it would switch off its rules.
 */
export function readPolicyText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    // If the policy is a broken link, do not use the default policy: the user wants another one.
    const isLink =
      errnoOf(error) === 'ENOENT' && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (isMissing(error) && !isLink) return undefined;
    const why = isLink ? 'it is a link to a missing file' : unreadableWords(errnoOf(error) ?? String(error));
    throw new Fault('CONFIG_INVALID', `the policy file ${path} cannot be read (${why})`, {
      cause: error,
      path,
    });
  }
}

/** The reason why a file cannot be read, for the user, with the cure if there is one. */
export function unreadableWords(errno: string): string {
  if (errno === 'EACCES') return 'EACCES: give this user the permission to read it';
  return errno === 'EISDIR' ? 'it is a folder' : errno;
}

/** The identity of the folder at a path; undefined if there is none. */
export function folderIdentity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
