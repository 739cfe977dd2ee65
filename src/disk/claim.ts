import { lstatSync, renameSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { isMissing } from '../model/errno.ts';
import { at, type Place } from '../model/path.ts';
import { holds } from './compare.ts';
import type { DiskContext } from './context.ts';
import { syncFolder } from './folders.ts';
import { moveIfFree } from './free-name.ts';
import { letOwnerRead, type Publication, type Published, retainOrDrop, withdraw } from './publication.ts';
import { retain } from './retain.ts';

/**
 * Publishes without an atomic exchange: the old file is renamed away, verified, and the new one linked to the free
 * name, which fails if someone took it meanwhile. Nothing unverified is ever visible; for about 20 µs the name is
 * absent. The log says whose name is away, so that a later start can give it back if we are killed in between.
 */
export function publishByClaim(context: DiskContext, publication: Publication): Published {
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
    syncFolder(context, place.dir);
    letOwnerRead(publication);
    return { ok: true, displaced: publication.ours ? retainOrDrop(context, claim) : retain(context, claim) };
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
 * Takes a name away: what is there, whatever it is, gets a temporary name that only we use. Undefined if nothing is
 * there. Looking before taking would leave a moment in which another file can come under the name.
 */
export function claimName(context: DiskContext, place: Place): string | undefined {
  const claim = reserveClaim(context, place);
  return takeName(context, place, claim) ? claim : undefined;
}

/** Takes a name away from bytes that we have just put there, without a line in the log. Undefined if nothing is there. */
export function takeOurs(context: DiskContext, place: Place): string | undefined {
  const claim = `${place.dir.prefix}/${context.litter.tempName(dirname(place.path.absolute))}`;
  return takeName(context, place, claim) ? claim : undefined;
}

/** The temporary name for a claim, written down so that a later start knows whose name is away. */
export function reserveClaim(context: DiskContext, place: Place): string {
  const dir = dirname(place.path.absolute);
  const name = context.litter.tempName(dir);
  context.litter.claiming(dir, { claim: name, name: place.name, durability: context.durability });
  return `${place.dir.prefix}/${name}`;
}

/** False if nothing is there. */
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

/** Gives a claimed file its name again, unless someone has it by now; then the file is kept. */
export function putBack(context: DiskContext, claim: string, place: Place): string[] {
  return moveIfFree(claim, at(place)) ? [] : [retain(context, claim)];
}
