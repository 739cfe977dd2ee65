import { fingerprintIfStill } from '../disk/hash-file.ts';
import { linkTarget } from '../disk/list.ts';
import { readSnapshot, type Snapshot } from '../disk/read.ts';
import { modeOf, stampOf } from '../disk/stats.ts';
import type { Side } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { Found, Located } from '../workspace/workspace.ts';
import { ABSENT, fileSide, sideOf } from './sides.ts';
import type { World } from './world.ts';

export interface FoundSide {
  readonly side: Side;
  readonly snapshot?: Snapshot;
}

/**
 * The present state at a key. A key below a file or a link is absent, even if the link's target is a folder. Throws if
 * the state cannot be determined or the key is not in this workspace.
 */
export async function sideAt(world: World, key: string): Promise<Side> {
  return (await foundAt(world, key)).side;
}

/** The present state at a key, with the bytes of a file. Throws like `sideAt`. */
export async function foundAt(world: World, key: string): Promise<FoundSide> {
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok && outcome.refusal.detail?.errno === 'ENOTDIR') return { side: ABSENT };
  if (!outcome.ok) throw new Fault('IO_FAILED', `cannot read ${key}: ${outcome.refusal.code}`, { path: key });
  try {
    const { root, key: found } = outcome.located.place.path;
    if (!world.workspace.stands(root))
      throw new Fault('IO_FAILED', `cannot read ${key}: ${root} was moved`, { path: key });
    return found === key ? await sideOfLocated(world, outcome.located) : { side: ABSENT };
  } finally {
    outcome.located.place.dir.close();
  }
}

/** The state of a located path, with the bytes of a file. */
export async function sideOfLocated(world: World, located: Located): Promise<FoundSide> {
  if (!located.exists) return { side: ABSENT };
  const { stats, place } = located;
  if (stats.isDirectory()) return { side: { kind: 'directory', mode: Number(stats.mode & 0o777n) } };
  if (stats.isSymbolicLink()) return { side: { kind: 'link', target: linkTarget(place) ?? '' } };
  const snapshot = await readSnapshot(place, { clock: world.disk.clock });
  const isLarge = 'problem' in snapshot && snapshot.problem === 'too-large';
  const large = isLarge ? await largeSide(located) : undefined;
  if (large !== undefined) return { side: large };
  if ('problem' in snapshot) {
    throw new Fault('IO_FAILED', `cannot read ${place.path.given}: ${snapshot.problem}`, {
      path: place.path.given,
    });
  }
  return { side: sideOf(snapshot), snapshot };
}

/**
 * The state of a file too large to load, hashed in bounded memory. Undefined if it cannot be read or changes meanwhile.
 */
export async function largeSide({ place, stats }: Found): Promise<Side | undefined> {
  const fingerprint = await fingerprintIfStill(place, stampOf(stats));
  return fingerprint && fileSide(fingerprint, modeOf(stats), true);
}
