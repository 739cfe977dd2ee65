import { linkSync, lstatSync, readdirSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isMissing, isTaken } from '../model/errno.ts';
import type { PinnedDirectory } from '../model/path.ts';
import type { DiskContext } from './context.ts';
import { type LitterLine, logFolder, TEMP_PREFIX } from './litter-log.ts';
import { retain } from './retain.ts';

export interface Recovery {
  readonly home: string;
  isAlive(owner: string): boolean;
  /** Pins a folder a dead process wrote to; undefined if it is not in this workspace, or gone. */
  enter(dir: string): PinnedDirectory | 'gone' | 'elsewhere';
}

export interface Recovered {
  /** Names given back to files that were claimed when their process died. */
  readonly restored: readonly string[];
  /** Temporary files moved out of the workspace into our own folder. */
  readonly removed: readonly string[];
}

/**
 * Cleans up after processes that were killed: gives claimed names back, moves temporary files out of the workspace.
 * Nothing is deleted, for a temporary name may hold a displaced original.
 */
export function recover(context: DiskContext, recovery: Recovery): Recovered {
  const restored: string[] = [];
  const removed: string[] = [];
  for (const file of readdirSync(logFolder(recovery.home))) {
    const owner = file.replace(/\.log$/, '');
    if (recovery.isAlive(owner)) continue;
    const path = join(logFolder(recovery.home), file);
    const lines = readLines(path);
    let left = false;
    for (const dir of new Set(lines.map((line) => line.dir))) {
      const entered = recovery.enter(dir);
      if (entered === 'elsewhere') left = true;
      if (typeof entered === 'string') continue;
      try {
        const own = lines.filter((line) => line.dir === dir);
        restored.push(...restoreClaims(entered, own).map((name) => join(dir, name)));
        removed.push(...removeTemps(context, entered, owner).map((name) => join(dir, name)));
      } finally {
        entered.close();
      }
    }
    if (!left) unlinkIfThere(path);
  }
  return { restored, removed };
}

function readLines(path: string): LitterLine[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    // Another start was faster.
    if (isMissing(error)) return [];
    throw error;
  }
  return text.split('\n').flatMap((line) => {
    try {
      // Written by LitterLog; a torn last line belongs to a name that was never made.
      return line === '' ? [] : [JSON.parse(line) as LitterLine];
    } catch {
      return [];
    }
  });
}

function restoreClaims(dir: PinnedDirectory, lines: readonly LitterLine[]): string[] {
  const restored: string[] = [];
  for (const line of lines) {
    if (!('claim' in line)) continue;
    const claim = `${dir.prefix}/${line.claim}`;
    if (lstatSync(claim, { throwIfNoEntry: false }) === undefined) continue;
    try {
      linkSync(claim, `${dir.prefix}/${line.name}`);
      unlinkSync(claim);
      restored.push(line.name);
    } catch (error) {
      // The name is taken: the new file was published. The old one goes where temporaries go.
      if (!isTaken(error) && !isMissing(error)) throw error;
    }
  }
  return restored;
}

function removeTemps(context: DiskContext, dir: PinnedDirectory, owner: string): string[] {
  const names = readdirSync(`${dir.prefix}/.`).filter((name) => name.startsWith(`${TEMP_PREFIX}${owner}-`));
  for (const name of names) retain(context, `${dir.prefix}/${name}`);
  return names;
}

function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
