import { create } from '../disk/create.ts';
import { type MadeFolders, makeFolders } from '../disk/folders.ts';
import { move } from '../disk/move.ts';
import type { Snapshot } from '../disk/read.ts';
import { remove } from '../disk/remove.ts';
import type { Conflict } from '../disk/replace.ts';
import { modeOf } from '../disk/stats.ts';
import { movedSightings } from '../ledger/moved-sightings.ts';
import type { Effect, Side } from '../model/entry.ts';
import type { Place } from '../model/path.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Found, Located } from '../workspace/workspace.ts';
import { ABSENT, sideOf } from './sides.ts';
import type { Displaced, Done, Step } from './step.ts';
import type { World } from './world.ts';
import { folderEffects, madeEffects } from './write-step.ts';

export interface Move {
  readonly source: Found;
  readonly destination: Located;
  /** What the source is, for the journal. */
  readonly side: Side;
  /** The file at the destination that the session may overwrite. */
  readonly overwrites: Snapshot | undefined;
  /** What the session has seen of the source, and below it if it is a folder. */
  readonly sightings: readonly Sighting[];
}

/** Gives a file, link or folder another place. What it replaces there is kept; what was seen of it stays seen. */
export function moveStep(world: World, change: Move): Step {
  const { source, destination } = change;
  const from = source.place;
  let folders: MadeFolders | undefined;
  let to: Place | undefined;
  let moved = false;
  let left = false;

  const restoreDestination = async (): Promise<boolean> => {
    const restored = to === undefined || (await putBack(world, to, change.overwrites));
    folders?.undo();
    return restored;
  };

  return {
    action: 'move',
    path: destination.place.path,
    effects: [...folderEffects(destination), ...endsOf(change)],
    run: async () => {
      to = placeOf();
      const displaced = clear(world, to, change.overwrites);
      if ('reason' in displaced) return displaced;
      try {
        const outcome = move(world.disk, from, to);
        if (!outcome.ok) left = !(await restoreDestination());
        if (!outcome.ok) return outcome;
      } catch (error) {
        left = !(await restoreDestination().catch(() => false));
        throw error;
      }
      moved = true;
      const effects = [...madeEffects(destination, folders), ...endsOf(change)];
      return { ...done(change, displaced), effects };
    },
    isLeft: () => left,
    revert: async () => {
      if (!moved || to === undefined) return true;
      const back = move(world.disk, to, from);
      return (await restoreDestination()) && back.ok;
    },
    close: () => {
      folders?.close();
      from.dir.close();
      destination.place.dir.close();
    },
  };

  function placeOf(): Place {
    if (destination.exists || destination.missing.length === 1) return destination.place;
    folders = makeFolders(world.disk, destination.place, destination.missing.slice(0, -1));
    return { path: destination.place.path, dir: folders.dir, name: destination.missing.at(-1) ?? '' };
  }
}

/** Takes the overwritten file out of the way; it is kept. */
function clear(world: World, place: Place, overwrites: Snapshot | undefined): Displaced[] | Conflict {
  if (overwrites === undefined) return [];
  const { fingerprint, bytes } = overwrites;
  const outcome = remove(world.disk, place, { fingerprint, bytes });
  if (!outcome.ok) return outcome;
  return outcome.displaced === undefined ? [] : [{ file: outcome.displaced, ...fingerprint }];
}

/** Gives the overwritten file its place again. */
async function putBack(world: World, place: Place, overwritten: Snapshot | undefined): Promise<boolean> {
  if (overwritten === undefined) return true;
  const { bytes, stats } = overwritten;
  return (await create(world.disk, place, { bytes, mode: modeOf(stats) })).ok;
}

/** What happens at the old place and at the new one. */
function endsOf({ source, destination, side, overwrites }: Move): Effect[] {
  const from = source.place.path;
  const to = destination.place.path;
  return [
    { key: from.key, relative: from.relative, before: side, after: ABSENT, movedTo: to.key },
    {
      key: to.key,
      relative: to.relative,
      before: overwrites === undefined ? ABSENT : sideOf(overwrites),
      after: side,
    },
  ];
}

function done(change: Move, displaced: readonly Displaced[]): Done {
  const from = change.source.place.path;
  const to = change.destination.place.path;
  const result = {
    path: to.given,
    changed: true,
    created: false,
    sizeBytes: Number(change.source.stats.size),
    notices: [],
  };
  return {
    ok: true,
    result,
    sightings: movedSightings(change.sightings, { from: from.key, to: to.key }),
    tombstones: change.sightings.map((sighting) => sighting.key),
    displaced,
  };
}
