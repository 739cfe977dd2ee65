import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { errnoOf, isTaken } from '../model/errno.ts';
import { at, type Place } from '../model/path.ts';
import { linkIfFree } from './claim.ts';
import type { DiskContext } from './context.ts';
import { changeFailed } from './failure.ts';
import { syncFolder } from './folders.ts';
import { fingerprintOf } from './hash.ts';
import { type Committed, type Conflict, conflict, discard } from './replace.ts';
import { modeOf, stampOf } from './stats.ts';
import { type TempFile, writeTemp } from './temp-file.ts';

/** What link(2) says where hard links do not exist: FAT, some network and user-space file systems. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);
const EXCLUSIVE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export interface NewFile {
  readonly bytes: Uint8Array;
  /** Default: what the process's umask makes of 0666. */
  readonly mode?: number;
}

/**
 * Creates a file if nothing has its name: of several creators one wins, and nobody ever sees a part of it.
 * Where hard links do not exist the name is taken first and filled then; there a reader may see it half full.
 */
export async function create(
  context: DiskContext,
  place: Place,
  file: NewFile,
): Promise<Committed | Conflict> {
  const like = { kind: 'new', ...(file.mode === undefined ? {} : { mode: file.mode }) } as const;
  try {
    const temp = await writeTemp(context, place, { bytes: file.bytes, like });
    try {
      context.trace?.('publish');
      const fd = publish(context, { place, temp, file });
      if (fd === undefined) return conflict('exists');
      context.trace?.('folder-sync');
      syncFolder(context, place.dir);
      return committed(fd, file.bytes);
    } finally {
      closeSync(temp.fd);
      discard(temp);
    }
  } catch (error) {
    throw changeFailed(error, place.path);
  }
}

function committed(fd: number, bytes: Uint8Array): Committed {
  const stats = fstatSync(fd, { bigint: true });
  return {
    ok: true,
    fingerprint: fingerprintOf(bytes),
    stamp: stampOf(stats),
    mode: modeOf(stats),
    notices: [],
  };
}

/** The descriptor of the published file, or undefined if the name is taken. */
function publish(
  context: DiskContext,
  { place, temp, file }: { place: Place; temp: TempFile; file: NewFile },
): number | undefined {
  try {
    if (!linkIfFree(temp.path, at(place))) return undefined;
    unlinkSync(temp.path);
    return temp.fd;
  } catch (error) {
    if (!NO_LINKS.has(errnoOf(error) ?? '')) throw error;
    return takeName(context, place, file) ? temp.fd : undefined;
  }
}

function takeName(context: DiskContext, place: Place, file: NewFile): boolean {
  let fd: number;
  try {
    fd = openSync(at(place), EXCLUSIVE, 0o666);
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
  try {
    for (let done = 0; done < file.bytes.byteLength; ) done += writeSync(fd, file.bytes, done);
    if (file.mode !== undefined) fchmodSync(fd, file.mode);
    if (context.durability !== 'none') fsyncSync(fd);
    return true;
  } catch (error) {
    unlinkSync(at(place));
    throw error;
  } finally {
    closeSync(fd);
  }
}
