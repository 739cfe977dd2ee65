import { readSnapshot } from '../../disk/read.ts';
import { WHOLE } from '../../model/coverage.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { ShownBytes } from '../../model/foreign-session.ts';
import { NO_FLAGS, type Sighting } from '../../model/sighting.ts';
import { countLines } from '../../text/byte-lines.ts';
import { looksBinary } from '../../text/unicode.ts';
import { trusted } from '../look.ts';
import { recordView, type Scene } from './shown.ts';

/** Notes that a whole file was shown, if that is so; false leaves everything to a closer look. */
export async function sawWhole(
  scene: Scene,
  file: { readonly path: string; readonly key: string },
  shown: ShownBytes,
): Promise<boolean> {
  const { world, ledger } = scene;
  const known = await ledger.recall(file.key);
  if (known !== undefined && (await isOldNews(scene, known, shown))) return true;
  const outcome = world.workspace.locate(file.path, 'read');
  if (!outcome.ok) return false;
  const { located } = outcome;
  try {
    const { place } = located;
    if (!located.exists || !located.stats.isFile() || place.path.key !== file.key) return false;
    const limits = { clock: world.disk.clock, maxBytes: world.policy.maxEditBytes, known: trusted(known) };
    const snapshot = await readSnapshot(place, limits);
    if ('problem' in snapshot || !shown.equals(snapshot.bytes)) return false;
    const { bytes, fingerprint, stamp, racy } = snapshot;
    world.baselines.remember(fingerprint, bytes);
    const sighting: Sighting = {
      key: place.path.key,
      fingerprint,
      stamp,
      racy,
      coverage: WHOLE,
      totalLines: countLines(bytes),
      flags: { ...NO_FLAGS, notText: looksBinary(bytes) },
      how: 'read',
      atMs: world.now(),
    };
    await recordView(scene, sighting, place.path);
    return true;
  } finally {
    located.place.dir.close();
  }
}

/** The same bytes, seen whole before: there is nothing to add, unless sightings grow old. Whether they are still there is asked when it matters. */
async function isOldNews({ world }: Scene, known: Sighting, shown: ShownBytes): Promise<boolean> {
  if (world.policy.ttlMs > 0 || !isClean(known) || known.stamp === undefined || known.racy) return false;
  const bytes = await world.baselines.recall(known.fingerprint);
  return bytes !== undefined && shown.equals(bytes);
}

function isClean(known: Sighting): known is Sighting & { readonly fingerprint: Fingerprint } {
  const { clamped, redacted, notText, unverified } = known.flags;
  if (known.fingerprint === undefined || known.how !== 'read' || known.refusedContent !== undefined)
    return false;
  return known.coverage.kind === 'whole' && !(clamped || redacted || notText || unverified);
}
