import { readSnapshot } from '../disk/read.ts';
import { type LookedFile, look } from '../gate/look.ts';
import type { World } from '../gate/world.ts';
import { rangesOf } from '../model/coverage.ts';
import { sameFingerprint } from '../model/fingerprint.ts';
import type { FileStatus, StatusResult } from '../model/results.ts';
import { type Sighting, type SightingFlags, showsAll } from '../model/sighting.ts';
import { type Outcome, refused } from '../model/verdict.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Located } from '../workspace/workspace.ts';

/** Maximum number of files in an agent's answer about all files. The most recently seen files are shown. */
const MAX_FILES = 100;

/**
 * Reports the seen lines of one file, or of all files that the session has seen, and whether the
 * files have changed since. `limit`: maximum number of files, if no path is given.
 */
export async function status(
  world: World,
  knowledge: Knowledge,
  path: string | undefined,
  limit: number = MAX_FILES,
): Promise<Outcome<StatusResult>> {
  if (path !== undefined) {
    const found = await viewAt(world, knowledge, path);
    if (!found.ok) return found;
    const [file] = await statusOf(world, [found.view]);
    const { sighting } = found.view;
    return { ok: true, files: file === undefined ? [] : [{ ...file, ...revisionSeen(world, sighting) }] };
  }
  const files = (await knowledge.all()).filter(({ how }) => how !== 'listing');
  const seen = files.sort((a, b) => b.atMs - a.atMs).slice(0, limit);
  const views: StatusView[] = [];
  for (const sighting of seen) {
    const found = await viewAt(world, knowledge, sighting.key);
    if (found.ok) views.push(found.view);
  }
  return { ok: true, files: await statusOf(world, views) };
}

/** A file as it is now and as the session saw it, with the path to show. */
type StatusView = Pick<LookedFile, 'path' | 'sighting' | 'facts'> & { readonly shown: string };

async function viewAt(
  world: World,
  knowledge: Knowledge,
  path: string,
): Promise<Outcome<{ readonly view: StatusView }>> {
  const request = { path, action: 'edit', locatedFor: 'status', depth: 'glance', writer: 'skip' } as const;
  const outcome = await look(world, knowledge, request, (view) => ({
    ok: true as const,
    view: { ...view, shown: path === view.path.absolute ? world.workspace.shown(view.path) : path },
  }));
  if (outcome.ok || outcome.refusal.action !== 'edit') return outcome;
  return refused({ ...outcome.refusal, action: 'status' });
}

/** The status of files, with the last change of each. */
async function statusOf(world: World, views: readonly StatusView[]): Promise<readonly FileStatus[]> {
  const changes = await world.store.lastChanges(views.map(({ path }) => path.key));
  return views.map((view) => {
    const last = changes.get(view.path.key);
    return {
      path: view.shown,
      freshness: freshness(view),
      ...seenOf(view.sighting),
      ...(last?.change === undefined
        ? {}
        : { lastChange: { change: last.change, session: last.session, atMs: last.atMs } }),
    };
  });
}

function freshness({ sighting, facts }: Pick<LookedFile, 'sighting' | 'facts'>): FileStatus['freshness'] {
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
 * The revision of the bytes that the session has seen, if it has seen the whole file. A revision
 * permits an overwrite, so a session gets none for a file that it has seen only in part.
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

/** True if the file still has the bytes that the session saw. Only the hash counts as proof. */
export async function confirms(world: World, sighting: Sighting): Promise<boolean> {
  if (sighting.fingerprint === undefined || sighting.how === 'listing') return false;
  const { key, fingerprint } = sighting;
  const compare = async ({ exists, place }: Located): Promise<boolean> => {
    if (!exists) return false;
    const snapshot = await readSnapshot(place, { clock: world.disk.clock });
    return !('problem' in snapshot) && sameFingerprint(snapshot.fingerprint, fingerprint);
  };
  return world.workspace.at({ path: key, action: 'status' }, compare, () => false);
}
