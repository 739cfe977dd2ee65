import { FileSystemClock } from '../disk/clock.ts';
import { readSnapshot } from '../disk/read.ts';
import { Fault } from '../model/fault.ts';
import { type Fingerprint, sameFingerprint } from '../model/fingerprint.ts';
import type { Images } from '../store/images.ts';
import { Workspace } from '../workspace/workspace.ts';

/** The bytes of one side of a change, or the reason why they are missing. */
export type FoundBytes = { readonly bytes: Uint8Array } | { readonly missing: string };

/**
 * Finds bytes by their fingerprint: among the images, or in the file itself if it is unchanged. Only bytes that a later
 * change displaced are among the images; the newest ones are on disk.
 */
export async function findBytes(
  images: Images,
  wanted: Fingerprint,
  at: { readonly root: string; readonly key: string },
): Promise<FoundBytes> {
  try {
    if (await images.has(wanted.sha256)) return { bytes: await images.read(wanted) };
    const bytes = await readIfSame(wanted, at);
    return bytes === undefined ? { missing: 'its bytes are no longer kept' } : { bytes };
  } catch (error) {
    if (error instanceof Fault) return { missing: error.message };
    throw error;
  }
}

async function readIfSame(
  wanted: Fingerprint,
  { root, key }: { readonly root: string; readonly key: string },
): Promise<Uint8Array | undefined> {
  const workspace = Workspace.open([root]);
  const clock = new FileSystemClock();
  try {
    const outcome = workspace.locate(key, 'read', 'parents');
    if (!outcome.ok) return undefined;
    const { place } = outcome.located;
    try {
      const snapshot = await readSnapshot(place, { clock, maxBytes: wanted.size });
      if ('problem' in snapshot || !sameFingerprint(snapshot.fingerprint, wanted)) return undefined;
      return snapshot.bytes;
    } finally {
      place.dir.close();
    }
  } finally {
    clock.close();
    workspace.close();
  }
}
