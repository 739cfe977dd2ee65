import { readSnapshot } from '../disk/read.ts';
import type { World } from '../gate/world.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { sameFingerprint } from '../model/fingerprint.ts';
import type { StalenessResult } from '../model/results.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Outcome } from '../model/verdict.ts';

const NS_PER_MS = 1_000_000n;

/** Whether a file still holds the bytes that the session has seen, by hash. The reasons are those of document D. */
export async function checkStaleness(
  world: World,
  ledger: Ledger,
  path: string,
): Promise<Outcome<StalenessResult>> {
  const outcome = world.workspace.locate(path, 'status');
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  try {
    const sighting = await ledger.recall(located.place.path.key);
    const seen = stateOf(sighting);
    if (seen === undefined) return { ok: true, stale: false, reason: 'file not previously tracked' };
    if (!located.exists) return { ok: true, stale: true, reason: 'file was deleted since last read', seen };
    const snapshot = await readSnapshot(located.place, { clock: world.disk.clock });
    if ('problem' in snapshot) return { ok: true, stale: true, reason: 'file cannot be read any more', seen };
    const { fingerprint, stats } = snapshot;
    const now = { ...fingerprint, mtimeMs: Number(stats.mtimeNs / NS_PER_MS) };
    return sameFingerprint(fingerprint, seen)
      ? { ok: true, stale: false, reason: 'content identical', seen, now }
      : { ok: true, stale: true, reason: 'file modified externally', seen, now };
  } finally {
    located.place.dir.close();
  }
}

function stateOf(sighting: Sighting | undefined): StalenessResult['seen'] {
  if (sighting?.fingerprint === undefined || sighting.tombstone === true) return undefined;
  const { fingerprint, stamp, atMs: at } = sighting;
  return stamp === undefined
    ? { ...fingerprint, at }
    : { ...fingerprint, mtimeMs: Number(stamp.mtimeNs / NS_PER_MS), at };
}

/** Whether the session has been shown any part of a file that is still in its context. */
export async function hasBeenRead(world: World, ledger: Ledger, path: string): Promise<boolean> {
  const outcome = world.workspace.locate(path, 'status');
  if (!outcome.ok) return false;
  const { place } = outcome.located;
  place.dir.close();
  const sighting = await ledger.recall(place.path.key);
  if (sighting === undefined || sighting.tombstone === true || sighting.how === 'listing') return false;
  return sighting.coverage.kind !== 'none';
}
