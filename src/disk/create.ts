import { closeSync, symlinkSync } from 'node:fs';
import { isTaken } from '../model/fault.ts';
import { at, type Place } from '../model/path.ts';
import { changeFailed, type DiskContext } from './context.ts';
import { syncFolder } from './file-system.ts';
import { moveIfFree } from './free-name.ts';
import {
  type Committed,
  committed,
  discardOurs,
  mayHideWrites,
  type New,
  type NewContent,
  withdraw,
} from './publication.ts';
import { type Conflict, conflict } from './replace.ts';
import { openStaged, writeTemp } from './temp-file.ts';

type NewFile = NewContent & {
  /** Default: 0666 minus the process's umask. */
  readonly mode?: number;
};

/**
 * Creates a file if its name is free. If several processes create it at once, one succeeds. Readers
 * never see partial content, except an empty file on file systems without hard links.
 */
export async function create(
  context: DiskContext,
  place: Place,
  file: NewFile,
): Promise<Committed | Conflict> {
  const like = { kind: 'new', ...(file.mode === undefined ? {} : { mode: file.mode }) } as const;
  try {
    const { staged } = file;
    const temp = staged
      ? openStaged(place, staged)
      : await writeTemp(context, place, { content: file, like });
    if (temp === undefined) return conflict('changed');
    try {
      const hidesWrites = mayHideWrites(context, place, temp);
      return (await publish(context, { place, temp, intended: file }))
        ? committed(temp, { content: file, hidesWrites })
        : conflict('exists');
    } finally {
      discardOurs({ place, temp, intended: file });
      closeSync(temp.fd);
    }
  } catch (error) {
    throw changeFailed(context, error, place.path);
  }
}

async function publish(context: DiskContext, created: New): Promise<boolean> {
  context.trace?.('publish');
  if (!moveIfFree(created.temp.path, at(created.place))) return false;
  try {
    context.trace?.('folder-sync');
    await syncFolder(context, created.place.dir);
    return true;
  } catch (error) {
    withdraw(context, created);
    throw error;
  }
}

/** Creates a symbolic link if its name is free. Used only to restore a link that was removed. */
export async function makeLink(
  context: DiskContext,
  place: Place,
  target: string,
): Promise<{ readonly ok: true } | Conflict> {
  try {
    symlinkSync(target, at(place));
    await syncFolder(context, place.dir);
    return { ok: true };
  } catch (error) {
    if (isTaken(error)) return conflict('exists');
    throw changeFailed(context, error, place.path);
  }
}
