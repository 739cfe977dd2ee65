import { type LookedFile, look } from '../gate/look.ts';
import type { World } from '../gate/world.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { rangesOf } from '../model/coverage.ts';
import type { FileStatus, Freshness, StatusResult } from '../model/results.ts';
import { type Sighting, type SightingFlags, showsAll } from '../model/sighting.ts';
import type { Outcome } from '../model/verdict.ts';

/** Number of files in an answer without a path, most recently seen first. */
const MAX_FILES = 100;

/** The session's sightings of a file, or of all files, and whether they are still current. */
export async function status(
  world: World,
  ledger: Ledger,
  path: string | undefined,
): Promise<Outcome<StatusResult>> {
  if (path !== undefined) {
    const file = await fileStatus(world, ledger, path);
    return file.ok ? { ok: true, files: [{ ...file.file, ...revisionSeen(world, file.sighting) }] } : file;
  }
  const seen = [...(await ledger.all())].sort((a, b) => b.atMs - a.atMs).slice(0, MAX_FILES);
  const files: FileStatus[] = [];
  for (const sighting of seen) {
    if (sighting.how === 'listing') continue;
    const file = await fileStatus(world, ledger, sighting.key);
    if (file.ok) files.push(file.file);
  }
  return { ok: true, files };
}

async function fileStatus(
  world: World,
  ledger: Ledger,
  path: string,
): Promise<Outcome<{ file: FileStatus; sighting: Sighting | undefined }>> {
  const outcome = await look(world, ledger, { path, action: 'edit', depth: 'glance' });
  if (!outcome.ok)
    return outcome.refusal.action === 'edit'
      ? { ...outcome, refusal: { ...outcome.refusal, action: 'status' } }
      : outcome;
  const { view } = outcome;
  view.located.place.dir.close();
  const last = await world.store.lastChange(view.path.key);
  const shown = path === view.path.absolute ? view.path.relative : path;
  const file: FileStatus = {
    path: shown,
    freshness: freshness(view),
    ...seenOf(view.sighting),
    ...(last?.change === undefined
      ? {}
      : { lastChange: { change: last.change, session: last.session, atMs: last.atMs } }),
  };
  return { ok: true, file, sighting: view.sighting };
}

function freshness({ sighting, facts }: Pick<LookedFile, 'sighting' | 'facts'>): Freshness {
  const { exists } = facts.target;
  const now = facts.freshness;
  const seen = sighting !== undefined && sighting.tombstone !== true && sighting.lost === undefined;
  if (!exists) return seen ? 'deleted' : 'missing';
  if (!seen && now === undefined) return 'unseen';
  if (now === 'changed') return 'stale';
  return now === 'same' ? 'fresh' : 'unverifiable';
}

function seenOf(sighting: Sighting | undefined): Omit<FileStatus, 'path' | 'freshness'> {
  if (sighting === undefined || sighting.tombstone === true || sighting.coverage.kind === 'none')
    return { seen: 'nothing' };
  const { coverage, totalLines, flags } = sighting;
  const whole = coverage.kind === 'whole' && showsAll(flags);
  return {
    seen: whole ? 'whole' : 'some',
    ...butOf(flags),
    ...(whole ? {} : { ranges: rangesOf(coverage, totalLines ?? 0) }),
    ...(totalLines === undefined ? {} : { totalLines }),
    seenAtMs: sighting.atMs,
    how: sighting.how,
  };
}

/**
 * The revision of a file. It permits an overwrite, so a session gets it only for bytes it was shown whole, one file at
 * a time.
 */
function revisionSeen(world: World, sighting: Sighting | undefined): Pick<FileStatus, 'revision'> {
  if (sighting?.fingerprint === undefined || sighting.tombstone === true) return {};
  const whole = sighting.coverage.kind === 'whole' && showsAll(sighting.flags);
  return whole ? { revision: world.revisionOf(sighting.fingerprint) } : {};
}

function butOf({ clamped, redacted, notText }: SightingFlags): Pick<FileStatus, 'but'> {
  if (notText) return { but: 'described' };
  if (redacted) return { but: 'redacted' };
  return clamped ? { but: 'cut' } : {};
}
