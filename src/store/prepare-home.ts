import { chmodSync, realpathSync } from 'node:fs';
import { Fault } from '../model/fault.ts';
import { makeFolder } from './make-folder.ts';

/** Makes our state folder, private to its user, and returns its canonical path. */
export function prepareHome(path: string): string {
  try {
    makeFolder(path);
    const canonical = realpathSync.native(path);
    chmodSync(canonical, 0o700);
    return canonical;
  } catch (error) {
    const message = `the state folder cannot be used: ${path} (${error instanceof Error ? error.message : String(error)})`;
    throw new Fault('STORE_FAILED', message, { cause: error, path });
  }
}
