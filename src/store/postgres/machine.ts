import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isMissing, isTaken } from '../../model/errno.ts';

const FILE = 'lookfirst.machine';

/**
 * The name of this machine in a fleet: its host name when the state folder was first used with a fleet store, and a random
 * part, for containers and clones share host names. It belongs to the state folder, as locks and local images do.
 */
export function machineOf(home: string): string {
  const file = join(home, FILE);
  const known = readIfThere(file);
  if (known !== undefined) return known;
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${newName()}\n`, { flag: 'wx', mode: 0o600 });
    linkSync(draft, file);
  } catch (error) {
    if (!isTaken(error)) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readIfThere(file) ?? newName();
}

/** The same without making the file: a name of no machine if there is none. */
export function existingMachineOf(home: string): string {
  return readIfThere(join(home, FILE)) ?? newName();
}

function newName(): string {
  const host =
    hostname()
      .toLowerCase()
      .replace(/[^a-z0-9.-]/g, '-')
      .slice(0, 40) || 'host';
  return `${host}-${randomBytes(3).toString('hex')}`;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
