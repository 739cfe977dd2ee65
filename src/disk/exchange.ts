import { lstatSync } from 'node:fs';
import { errnoOf, isMissing } from '../model/errno.ts';
import { at } from '../model/path.ts';
import { holds } from './compare.ts';
import type { DiskContext } from './context.ts';
import { syncFolder } from './folders.ts';
import { giveBack } from './give-back.ts';
import type { NativeFiles } from './native.ts';
import { type Publication, type Published, retainOrDrop } from './publication.ts';
import { retain } from './retain.ts';
import { discard } from './temp-file.ts';

/** What the exchange says on file systems that do not have it. */
const NO_EXCHANGE = new Set(['EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/**
 * Publishes by exchanging the two names in one step, so that the target never is absent. What came out is verified
 * before anything else happens; a stranger's file is put back at once. Every inode that ever had the target's name is
 * kept, because someone may still write into it.
 */
export function publishByExchange(
  context: DiskContext,
  native: NativeFiles,
  publication: Publication,
): Published | 'unsupported' {
  const { place, temp, old, expected } = publication;
  context.trace?.('exchange');
  try {
    native.swapSync(temp.path, at(place));
  } catch (error) {
    if (NO_EXCHANGE.has(errnoOf(error) ?? '')) return 'unsupported';
    if (!isMissing(error)) throw error;
    // Deleted by someone else: that is a change, and there is nothing to give back.
    discard(temp);
    return { ok: false, retained: [] };
  }
  try {
    // The cheap look first: a stranger is put back within microseconds, before anyone builds on what we published.
    const out = lstatSync(temp.path, { bigint: true });
    const looksOld =
      out.ino === old.stats.ino && out.size === old.stats.size && out.mtimeNs === old.stats.mtimeNs;
    if (looksOld) {
      context.trace?.('verify');
      if (holds(old.fd, expected)) {
        context.trace?.('folder-sync');
        // Before the old file leaves the folder: should it fail, the names are exchanged back.
        syncFolder(context, place.dir);
        if (publication.ours) return { ok: true, displaced: retainOrDrop(context, temp.path) };
        const image = context.imageName?.(expected.fingerprint, out);
        return { ok: true, displaced: retain(context, temp.path, image) };
      }
    }
  } catch (error) {
    giveBack(context, native, publication);
    throw error;
  }
  return { ok: false, retained: giveBack(context, native, publication) };
}
