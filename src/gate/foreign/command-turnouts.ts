import { fingerprintOf, stampOf } from '../../disk/read.ts';
import type { Effect, PendingChange, Side, TreeSnapshot } from '../../model/entry.ts';
import { sameFingerprint, sameStamp } from '../../model/fingerprint.ts';
import type { Sighting } from '../../model/sighting.ts';
import { type Candidate, convertedPaths, readBlobs } from '../../process/git-snapshot.ts';
import { syncImages } from '../announce.ts';
import { keepBytesOf } from '../old-bytes.ts';
import { ABSENT, type FoundSide, fileSide, foundAt } from '../step.ts';
import type { World } from '../world.ts';
import { effectAt, readableAt, SNAPSHOT_MS } from './command.ts';
import type { Turnout } from './known-after.ts';
import type { ShownScene } from './shown.ts';

/** Everything that a command may have changed, with its state before and now. */
export async function commandTurnouts(
  { world, ledger }: ShownScene,
  { entry, foreign }: PendingChange,
): Promise<readonly Turnout[]> {
  const effects = entry.effects ?? [];
  const turnouts: Turnout[] = [];
  for (const effect of effects) {
    const sighting = await ledger.recall(effect.key);
    if (sighting !== undefined && isUntouched(world, effect, sighting)) continue;
    const now = await readableAt(world, effect.key);
    if (now !== undefined) turnouts.push({ effect, now });
  }
  const known = new Set(effects.map(({ key }) => key));
  for (const snapshot of foreign?.command?.snapshots ?? [])
    for (const turnout of await snapshotTurnouts(world, snapshot, known)) turnouts.push(turnout);
  return turnouts;
}

/** True if the file's stamp proves that it still has its bytes from before the command. */
function isUntouched(world: World, { key, before }: Effect, { stamp, racy, fingerprint }: Sighting): boolean {
  if (stamp === undefined || racy || before.kind !== 'file' || fingerprint === undefined) return false;
  if (!sameFingerprint(before.fingerprint, fingerprint)) return false;
  const outcome = world.workspace.locate(key, 'status', 'parents');
  if (!outcome.ok) return false;
  const { located } = outcome;
  located.place.dir.close();
  return located.exists && located.stats.isFile() && sameStamp(stamp, stampOf(located.stats));
}

async function snapshotTurnouts(
  world: World,
  snapshot: TreeSnapshot,
  known: ReadonlySet<string>,
): Promise<readonly Turnout[]> {
  const signal = AbortSignal.timeout(SNAPSHOT_MS.git);
  const candidates = await world.processes.candidates(snapshot, signal);
  if ('unavailable' in candidates) return [];
  const found: (Candidate & { key: string; relative: string; now: FoundSide })[] = [];
  for (const candidate of candidates) {
    const effect = await effectAt(world, `${snapshot.root}/${candidate.path}`, 'parents');
    if (effect === undefined || known.has(effect.key)) continue;
    const { key, relative } = effect;
    found.push({ ...candidate, key, relative, now: await foundAt(world, key) });
  }
  const tracked = found.filter(({ blob }) => blob !== undefined);
  const paths = tracked.map(({ path }) => path);
  const converted = await convertedPaths(snapshot, paths, signal);
  const blobs = await readBlobs(
    snapshot,
    tracked.map(({ blob }) => blob ?? ''),
    signal,
  );
  const bytes = new Map(paths.map((path, at) => [path, 'unavailable' in blobs ? undefined : blobs[at]]));
  const turnouts: Turnout[] = [];
  for (const { key, relative, now, ...candidate } of found) {
    const raw = !('unavailable' in converted) && !converted.has(candidate.path);
    const mode = modeBefore(candidate, now.side);
    const before = await sideBefore(world, { ...candidate, mode }, { bytes: bytes.get(candidate.path), raw });
    turnouts.push({ effect: { key, relative, before, after: before }, now });
  }
  const kept = turnouts.flatMap(({ effect: { before } }) =>
    before.kind === 'file' && before.kept ? [before.fingerprint] : [],
  );
  if (world.policy.durability !== 'none' && kept.length > 0) await syncImages(world, kept);
  return turnouts;
}

/**
 * The permissions of a tracked file before the command. Git stores only whether the file is
 * executable, so all other permissions count as unchanged: an undo must not give others access to a
 * file. A deleted file probably had the permissions that the umask leaves.
 */
function modeBefore({ mode = 0o644 }: Candidate, now: Side): number {
  const wasExecutable = (mode & 0o100) !== 0;
  if (now.kind !== 'file') return (wasExecutable ? 0o777 : 0o666) & ~process.umask();
  const isExecutable = (now.mode & 0o100) !== 0;
  if (wasExecutable === isExecutable) return now.mode;
  return wasExecutable ? now.mode | ((now.mode & 0o444) >> 2) : now.mode & ~0o111;
}

/**
 * The state, before the command, of a file that the command may have changed. `bytes`: the content
 * that git stores. `raw`: git stores the file's bytes without a conversion, for example of line
 * endings. If `raw` is true, keeps the bytes for an undo. The caller must sync the kept bytes.
 */
async function sideBefore(
  world: World,
  { path, blob, mode, link }: Candidate & { readonly mode: number },
  { bytes, raw }: { readonly bytes: Buffer | undefined; readonly raw: boolean },
): Promise<Side> {
  if (blob === undefined) return ABSENT;
  if (link === true && bytes !== undefined) return { kind: 'link', target: bytes.toString('utf8') };
  const content = bytes ?? Buffer.alloc(0);
  const fingerprint = fingerprintOf(content);
  const kept = raw && bytes !== undefined;
  if (kept) await keepBytesOf(world, path, { bytes: content, fingerprint }, 'none');
  return fileSide(fingerprint, mode, kept ? 'kept' : 'none');
}
