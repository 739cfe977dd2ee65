import { lstatSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, unlessErrno, unlessMissing } from '../model/fault.ts';
import type { PinnedDirectory } from '../model/path.ts';
import type { DiskContext } from './context.ts';
import { moveIfFree } from './free-name.ts';
import {
  dropReadyFiles,
  type LitterLine,
  logFolder,
  namesIn,
  readLitter,
  TEMP_PREFIX,
  unlinkIfThere,
} from './litter-log.ts';
import { retain, retainFolder } from './publication.ts';

export interface Recovery {
  readonly home: string;
  isAlive(owner: string): boolean;
  /**
   * Opens a folder that a dead process wrote to. `gone`: it does not exist any more. `elsewhere`:
   * it is not in this workspace.
   */
  enter(dir: string): PinnedDirectory | 'gone' | 'elsewhere';
}

export interface Recovered {
  /**
   * Files that were under a temporary name when their process died. They have their original names
   * again.
   */
  readonly restored: readonly string[];
  /** Paths that temporary files had in the workspace. They are no longer there. */
  readonly removed: readonly string[];
}

/**
 * Cleans up after killed processes: restores the original names of renamed files, and moves other
 * temporary files out of the workspace. Several processes may run this concurrently. A file that
 * cannot be cleaned up now stays for a later start of Lookfirst.
 */
export function recover(context: DiskContext, recovery: Recovery): Recovered {
  const restored: string[] = [];
  const removed: string[] = [];
  for (const file of namesIn(logFolder(recovery.home))) {
    const owner = file.replace(/\.log$/, '');
    if (recovery.isAlive(owner)) continue;
    const path = join(logFolder(recovery.home), file);
    let left = false;
    for (const [dir, lines] of byFolder(readLitter(path))) {
      const cleaned = cleanFolder(context, recovery, { dir, owner, lines, log: path });
      if (cleaned === 'left') left = true;
      else {
        restored.push(...cleaned.restored);
        removed.push(...cleaned.removed);
      }
    }
    if (!left) unlinkIfThere(path);
  }
  dropReadyFiles(recovery.home, recovery.isAlive);
  return { restored, removed };
}

/** The lines of a log by their folder. */
function byFolder(lines: readonly LitterLine[]): ReadonlyMap<string, readonly LitterLine[]> {
  const folders = new Map<string, LitterLine[]>();
  for (const line of lines) {
    const known = folders.get(line.dir);
    if (known === undefined) folders.set(line.dir, [line]);
    else known.push(line);
  }
  return folders;
}

interface Litter {
  readonly dir: string;
  readonly owner: string;
  /** The lines about this folder in the log that the dead process (`owner`) left. */
  readonly lines: readonly LitterLine[];
  /** The path of that log. */
  readonly log: string;
}

/**
 * The age of a log from which on its missing folders count as deleted. Before that, they may be on a
 * disk that is not mounted now.
 */
const FORGOTTEN_MS = 30 * 24 * 3_600_000;

/**
 * True for a folder of another workspace that no longer exists, so that no start would clean it up.
 * False if a file in it may have lost its name: if the folder exists again, the file gets it back.
 */
function isForgotten({ dir, log, lines }: Litter): boolean {
  if (lines.some((line) => 'claim' in line)) return false;
  const isDeleted = unlessErrno(() => {
    const isOld = Date.now() - lstatSync(log).mtimeMs > FORGOTTEN_MS;
    return isOld && lstatSync(dir, { throwIfNoEntry: false }) === undefined;
  });
  return isDeleted === true;
}

function cleanFolder(context: DiskContext, recovery: Recovery, litter: Litter): Recovered | 'left' {
  const { dir, owner } = litter;
  const entered = recovery.enter(dir);
  if (entered === 'elsewhere' && !isForgotten(litter)) return 'left';
  if (entered === 'gone' || entered === 'elsewhere') return { restored: [], removed: [] };
  try {
    const restored = restoreClaims(entered, litter.lines).map((name) => join(dir, name));
    const removed = removeTemps(context, entered, owner).map((name) => join(dir, name));
    return { restored, removed };
  } catch (error) {
    // Ignore errors of the system: a full disk or a read-only folder must not prevent a session
    // from starting.
    if (errnoOf(error) === undefined) throw error;
    return 'left';
  } finally {
    entered.close();
  }
}

function restoreClaims(dir: PinnedDirectory, lines: readonly LitterLine[]): string[] {
  const restored: string[] = [];
  for (const line of lines) {
    if (!('claim' in line)) continue;
    const claim = `${dir.prefix}/${line.claim}`;
    if (lstatSync(claim, { throwIfNoEntry: false }) === undefined) continue;
    // Do not replace a file that has the original name by now: it is the new, published file.
    // `removeTemps` then moves the old file out of the workspace.
    if (unlessMissing(() => moveIfFree(claim, `${dir.prefix}/${line.name}`))) restored.push(line.name);
  }
  return restored;
}

function removeTemps(context: DiskContext, dir: PinnedDirectory, owner: string): string[] {
  const names = readdirSync(`${dir.prefix}/.`);
  const temps = names.filter((name) => isTempOf(owner, name));
  const others = names.filter((name) => !name.startsWith(TEMP_PREFIX));
  let inodes: ReadonlySet<bigint> | undefined;
  const isInPlace = (ino: bigint): boolean => {
    // Read the folder's inodes once, because thousands of temporary names may be left in it.
    inodes ??= inodesOf(dir, others);
    return inodes.has(ino);
  };
  // Ignore a file that is missing: another process has cleaned it up.
  return temps.filter((name) => unlessMissing(() => removeTemp(context, `${dir.prefix}/${name}`, isInPlace)));
}

function inodesOf(dir: PinnedDirectory, names: readonly string[]): ReadonlySet<bigint> {
  return new Set(
    names.flatMap(
      (name) => lstatSync(`${dir.prefix}/${name}`, { bigint: true, throwIfNoEntry: false })?.ino ?? [],
    ),
  );
}

/** True for a temporary name of exactly this owner: another owner's id may begin with the same characters. */
function isTempOf(owner: string, name: string): boolean {
  const prefix = `${TEMP_PREFIX}${owner}-`;
  return name.startsWith(prefix) && /^[0-9a-z]+$/.test(name.slice(prefix.length));
}

function removeTemp(context: DiskContext, path: string, isInPlace: (ino: bigint) => boolean): boolean {
  const stats = lstatSync(path, { bigint: true });
  // Keep the entry outside the workspace, because it may be the only copy. If the file also has its
  // proper name, unlinking the temporary name is enough.
  if (stats.isDirectory()) retainFolder(context, path);
  else if (stats.nlink > 1n && isInPlace(stats.ino)) unlinkSync(path);
  else retain(context, path);
  return true;
}
