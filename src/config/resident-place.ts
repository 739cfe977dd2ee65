import { hostname } from 'node:os';
import { join } from 'node:path';

/** The socket folder of one state folder, and the link to the resident that gets new calls. */
export interface ResidentPlace {
  /** The folder of the sockets, only for this user. Processes change into it: a socket's path has at most 107 bytes. */
  readonly folder: string;
  /** A symbolic link to the socket of the resident that gets new calls. Host and user are in its name, because a
   *  container may share the state folder with its host. */
  readonly pointer: string;
}

export function residentPlace(home: string, uid: number): ResidentPlace {
  return { folder: join(home, 'run'), pointer: pointerName(hostname(), uid) };
}

/** The script computes the same name: see `hookScript`. */
function pointerName(host: string, uid: number): string {
  return `hook-${host}-${uid}.sock`;
}
