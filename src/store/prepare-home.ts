import { chmodSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { Fault } from '../model/fault.ts';
import { makeFolder } from './make-folder.ts';

/** Ignores the group: most systems give each user a private group, for which folders are writable by default. */
const WRITABLE_BY_OTHERS = 0o002;
const OPEN_TO_OTHERS = 0o077;
/** Names of our files in the state folder. */
const OWN_NAMES = /^(lookfirst\.|(images|retained|writers|locks|clock|layers|outputs)$)/;

/**
 * Makes the state folder, private to its user, and returns its canonical path. A folder with foreign files keeps its
 * permissions, because other programs may depend on them. If other users could write to it, that is a Fault. A relative
 * path is a Fault too, because it would name another folder in every working directory.
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
    const message = `the state folder cannot be used: ${path} (${error instanceof Error ? error.message : String(error)})`;
    throw new Fault('STORE_FAILED', message, { cause: error, path });
  }
}

function makePrivate(folder: string): void {
  // Windows has no permission bits.
  const mode = process.platform === 'win32' ? 0 : statSync(folder).mode;
  if ((mode & OPEN_TO_OTHERS) === 0) return;
  if (readdirSync(folder).every((name) => OWN_NAMES.test(name))) chmodSync(folder, 0o700);
  else if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw new Error('others may write to it, and it holds other things: name a folder of its own');
}
