import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isMissing, isTaken } from '../../model/errno.ts';

const FILE = 'lookfirst.machine';

/**
 * The name of this machine in a fleet: its host name at the first use of a fleet store, and a random part, because
 * containers and clones share host names. It belongs to the state folder, like locks and local images.
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

/** Like `machineOf`, without creating the file. If there is none, returns a name that no machine has. */
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
