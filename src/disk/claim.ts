import { type BigIntStats, linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { isMissing, isTaken } from '../model/errno.ts';
import { at } from '../model/path.ts';
import { holds } from './compare.ts';
import type { DiskContext } from './context.ts';
import type { Publication, Published } from './exchange.ts';
import { retain } from './retain.ts';

/**
 * Publishes without an atomic exchange: the old file is renamed away, verified, and the new one linked to the free
 * name, which fails if someone took it meanwhile. Nothing unverified is ever visible; for about 20 µs the name is
 * absent. The log says whose name is away, so that a later start can give it back if we are killed in between.
 */
export function publishByClaim(context: DiskContext, publication: Publication): Published {
  const { place, temp, old, expected } = publication;
  const target = at(place);
  const dir = dirname(place.path.absolute);
  const claimName = context.litter.tempName(dir);
  const claim = `${place.dir.prefix}/${claimName}`;
  context.litter.claiming(dir, claimName, place.name);
  context.trace?.('claim');
  try {
    renameSync(target, claim);
  } catch (error) {
    if (!isMissing(error)) throw error;
    unlinkSync(temp.path);
    return { ok: false, retained: [] };
  }
  try {
    context.trace?.('verify');
    const out = lstatSync(claim, { bigint: true });
    if (out.ino !== old.stats.ino || !holds(old.fd, expected)) {
      unlinkSync(temp.path);
      return { ok: false, retained: putBack(context, claim, target) };
    }
    context.trace?.('publish');
    if (!linkIfFree(temp.path, target)) {
      unlinkSync(temp.path);
      return { ok: false, retained: [retain(context, claim)] };
    }
    unlinkSync(temp.path);
    return { ok: true, displaced: retain(context, claim) };
  } catch (error) {
    if (statOf(target)?.ino === temp.ino) unlinkSync(target);
    if (statOf(claim) !== undefined) putBack(context, claim, target);
    throw error;
  }
}

function statOf(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false });
}

/** False if something has the name already. */
export function linkIfFree(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (isTaken(error)) return false;
    throw error;
  }
}

/** Gives a claimed file its name again, unless someone has it by now; then the file is kept. */
export function putBack(context: DiskContext, claim: string, target: string): string[] {
  if (!linkIfFree(claim, target)) return [retain(context, claim)];
  unlinkSync(claim);
  return [];
}
