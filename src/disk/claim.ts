import { lstatSync, renameSync, unlinkSync } from 'node:fs';
import { isMissing } from '../model/fault.ts';
import { at, type Place } from '../model/path.ts';
import { holds } from './content.ts';
import type { DiskContext } from './context.ts';
import { syncFolder } from './file-system.ts';
import { moveIfFree } from './free-name.ts';
import {
  letOwnerRead,
  type Publication,
  type Published,
  retain,
  retainOrDrop,
  withdraw,
} from './publication.ts';
import { tempName } from './temp-names.ts';

/**
 * Replaces a file if the system cannot exchange two names atomically: renames the old file away,
 * verifies it, then gives the new file the target's name. Between the two renames, for about 20 µs,
 * other processes see no file.
 */
export async function publishByClaim(context: DiskContext, publication: Publication): Promise<Published> {
  const { place, temp, old, expected } = publication;
  const claim = claimName(context, place);
  if (claim === undefined) {
    unlinkSync(temp.path);
    return { ok: false, retained: [] };
  }
  let published = false;
  try {
    context.trace?.('verify');
    if (lstatSync(claim, { bigint: true }).ino !== old.stats.ino || !holds(old.fd, expected)) {
      unlinkSync(temp.path);
      return { ok: false, retained: putBack(context, claim, place) };
    }
    context.trace?.('publish');
    published = moveIfFree(temp.path, at(place));
    if (!published) {
      unlinkSync(temp.path);
      return { ok: false, retained: [retain(context, claim)] };
    }
    context.trace?.('folder-sync');
    await syncFolder(context, place.dir);
    letOwnerRead(publication);
    const { sha256 } = expected.fingerprint;
    return {
      ok: true,
      displaced: publication.ours ? retainOrDrop(context, claim) : retain(context, claim, sha256),
    };
  } catch (error) {
    try {
      if (published) withdraw(context, publication);
    } finally {
      if (lstatSync(claim, { throwIfNoEntry: false }) !== undefined) putBack(context, claim, place);
    }
    throw error;
  }
}

/**
 * Renames a file, link or folder to a temporary name that only this process uses (the claim). The
 * caller checks the entry after the rename, because another file could take the name between an
 * earlier check and the rename. Undefined if there is no such entry.
 */
export function claimName(context: DiskContext, place: Place): string | undefined {
  const claim = claimOf(context, place);
  return takeName(context, place, claim) ? claim : undefined;
}

/** The path of the temporary name to which an entry is about to be renamed for a moment. */
export function claimOf(context: DiskContext, { dir, path }: Place): string {
  return `${dir.prefix}/${tempName(context, path, 'old')}`;
}

/** Renames a file, link or folder to the temporary name `claim`. False if there is nothing at `place`. */
export function takeName(context: DiskContext, place: Place, claim: string): boolean {
  context.trace?.('claim');
  try {
    renameSync(at(place), claim);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * Renames a file from its temporary name (`claim`) back to its original name, and returns an empty
 * list. If another file has the original name by now, moves the claimed file out of the workspace
 * instead, and returns its new path.
 */
export function putBack(context: DiskContext, claim: string, place: Place): string[] {
  return moveIfFree(claim, at(place)) ? [] : [retain(context, claim)];
}
