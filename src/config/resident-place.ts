import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { errnoOf } from '../model/fault.ts';
import { makeFolder, prepareHome, unusableHome } from '../store/prepare-home.ts';

/** The location of the sockets of resident processes, which answer hook calls. */
export interface ResidentPlace {
  /**
   * The folder of the sockets, accessible only to this user. Processes change into it and use relative names, because
   * a socket's path has at most 107 bytes.
   */
  readonly folder: string;
  /**
   * A symbolic link to the socket of the newest resident process, which gets all new calls. Its name contains host
   * and user, because a container may share the state folder with its host.
   */
  readonly pointer: string;
}

export function residentPlace(home: string, uid: number): ResidentPlace {
  return { folder: join(home, 'run'), pointer: pointerName(hostname(), uid) };
}

/** The name of the link to the resident process. The hook script computes the same name; see `hookScript`. */
function pointerName(host: string, uid: number): string {
  return `hook-${host}-${uid}.sock`;
}

/** Makes a private folder in the state folder, and the state folder if it is missing. Throws a Fault on failure. */
export function makeStateSubfolder(folder: string): void {
  const home = dirname(folder);
  prepareHome(home);
  inStateFolder(home, () => makeFolder(folder));
}

/**
 * Runs `work`, which uses files in the state folder. Throws a Fault if `work` fails with a system
 * error, for example without permission to write.
 */
export function inStateFolder(home: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw errnoOf(error) === undefined ? error : unusableHome(home, error);
  }
}
