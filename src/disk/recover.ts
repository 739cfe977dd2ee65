import { lstatSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, unlessMissing } from '../model/fault.ts';
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
  /** Temporary files that were moved out of the workspace. */
  readonly removed: readonly string[];
}

/**
 * Cleans up after killed processes: restores the original names of renamed files, and moves other
 * temporary files out of the workspace. Several processes may run this concurrently. A file that
 * cannot be cleaned up now stays for a later start.
 */
export function recover(context: DiskContext, recovery: Recovery): Recovered {
  const restored: string[] = [];
  const removed: string[] = [];
  for (const file of namesIn(logFolder(recovery.home))) {
    const owner = file.replace(/\.log$/, '');
    if (recovery.isAlive(owner)) continue;
    const path = join(logFolder(recovery.home), file);
    const lines = readLitter(path);
    let left = false;
    for (const dir of new Set(lines.map((line) => line.dir))) {
      const cleaned = cleanFolder(context, recovery, { dir, owner, lines });
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

interface Litter {
  readonly dir: string;
  readonly owner: string;
  readonly lines: readonly LitterLine[];
}

function cleanFolder(context: DiskContext, recovery: Recovery, litter: Litter): Recovered | 'left' {
  const { dir, owner } = litter;
  const entered = recovery.enter(dir);
  if (entered === 'elsewhere') return 'left';
  if (entered === 'gone') return { restored: [], removed: [] };
  try {
    const own = litter.lines.filter((line) => line.dir === dir);
    const restored = restoreClaims(entered, own).map((name) => join(dir, name));
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
    // Do not replace a file that has the name by now: it is the new, published file. `removeTemps`
    // then moves the old file out of the workspace.
    if (unlessMissing(() => moveIfFree(claim, `${dir.prefix}/${line.name}`))) restored.push(line.name);
  }
  return restored;
}

function removeTemps(context: DiskContext, dir: PinnedDirectory, owner: string): string[] {
  const names = readdirSync(`${dir.prefix}/.`);
  const temps = names.filter((name) => isTempOf(owner, name));
  const others = names.filter((name) => !name.startsWith(TEMP_PREFIX));
  // Ignore a file that is missing: another process has cleaned it up.
  return temps.filter((name) => unlessMissing(() => removeTemp(context, dir, { name, others })));
}

/** True for a temporary name of exactly this owner: another owner's id may begin with the same characters. */
function isTempOf(owner: string, name: string): boolean {
  const prefix = `${TEMP_PREFIX}${owner}-`;
  return name.startsWith(prefix) && /^[0-9a-z]+$/.test(name.slice(prefix.length));
}

function removeTemp(
  context: DiskContext,
  dir: PinnedDirectory,
  { name, others }: { readonly name: string; readonly others: readonly string[] },
): boolean {
  const path = `${dir.prefix}/${name}`;
  const stats = lstatSync(path, { bigint: true });
  const { ino, nlink } = stats;
  const inPlace = (other: string): boolean =>
    lstatSync(`${dir.prefix}/${other}`, { bigint: true, throwIfNoEntry: false })?.ino === ino;
  // Keep the entry outside the workspace, because it may be the only copy. If the file also has its
  // proper name, unlinking the temporary name is enough.
  if (stats.isDirectory()) retainFolder(context, path);
  else if (nlink > 1n && others.some(inPlace)) unlinkSync(path);
  else retain(context, path);
  return true;
}
