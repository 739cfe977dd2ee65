import { readSnapshot } from '../disk/read.ts';
import type { World } from '../gate/world.ts';
import { deriveSightings } from '../history/derive.ts';
import type { HistorySighting } from '../history/history-sighting.ts';
import { joinSightings } from '../history/verify.ts';
import { Fault } from '../model/fault.ts';
import { LIMITS } from '../model/limits.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Resumed, ResumeOptions, Transcript } from '../model/transcript.ts';
import { countFileLines } from '../text/file-lines.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Located } from '../workspace/workspace.ts';

/**
 * Records for a session which files its transcript shows. Compares the shown lines with the disk: a
 * file whose lines cannot be confirmed is recorded as unverified.
 */
export async function resumeFrom(
  world: World,
  knowledge: Knowledge,
  { transcript, options }: { readonly transcript: Transcript; readonly options: ResumeOptions },
): Promise<Resumed> {
  if (typeof options !== 'object' || options === null)
    throw new Fault('MISUSE', 'the options for resuming must be an object');
  const cwd = options.cwd ?? world.workspace.roots[0] ?? '/';
  const history = deriveSightings(transcript, {
    cwd,
    ...(options.format === undefined ? {} : { format: options.format }),
  });
  const sightings: Sighting[] = [];
  for (const views of byPath(history.sightings).values()) {
    const sighting = await joined(world, views);
    if (sighting !== undefined) sightings.push(sighting);
  }
  await knowledge.record(await notKnownBetter(knowledge, sightings));
  const unverified = sightings.filter((sighting) => sighting.flags.unverified).length;
  return { confirmed: sightings.length - unverified, unverified, skipped: history.skipped };
}

/**
 * Leaves out an unverified sighting of a file that the session has read itself: its own record is
 * more reliable than the transcript.
 */
async function notKnownBetter(
  knowledge: Knowledge,
  sightings: readonly Sighting[],
): Promise<readonly Sighting[]> {
  const kept: Sighting[] = [];
  for (const sighting of sightings) {
    const own = sighting.flags.unverified ? await knowledge.recall(sighting.key) : undefined;
    if (own === undefined || own.tombstone === true || own.coverage.kind === 'none') kept.push(sighting);
  }
  return kept;
}

function byPath(history: readonly HistorySighting[]): Map<string, HistorySighting[]> {
  const paths = new Map<string, HistorySighting[]>();
  for (const sighting of history) {
    const views = paths.get(sighting.path) ?? [];
    views.push(sighting);
    paths.set(sighting.path, views);
  }
  return paths;
}

async function joined(world: World, views: readonly HistorySighting[]): Promise<Sighting | undefined> {
  const join = async (located: Located): Promise<Sighting | undefined> => {
    if (!located.exists) return undefined;
    const snapshot = await readSnapshot(located.place, {
      clock: world.disk.clock,
      maxBytes: LIMITS.maxEditBytes,
    });
    if ('problem' in snapshot) return undefined;
    const { bytes, fingerprint, stamp, racy } = snapshot;
    world.baselines.remember(fingerprint, bytes);
    const disk = {
      key: located.place.path.key,
      fingerprint,
      revision: world.revisionOf(fingerprint),
      totalLines: countFileLines(bytes),
      bytes,
      stamp,
      racy,
    };
    return joinSightings(views, disk);
  };
  return world.workspace.at({ path: views[0]?.path ?? '', action: 'status' }, join, () => undefined);
}
