import { type MadeFolders, makeFolders } from '../disk/folders.ts';
import { linkTarget } from '../disk/list.ts';
import { move } from '../disk/move.ts';
import { modeOf, type Snapshot } from '../disk/read.ts';
import { remove } from '../disk/remove.ts';
import type { Conflict } from '../disk/replace.ts';
import { judge } from '../judge/judge.ts';
import { type Ledger, sightingsBelow } from '../ledger/ledger.ts';
import { movedSightings } from '../ledger/sightings.ts';
import { type Effect, microseconds, type Side } from '../model/entry.ts';
import type { FileIntent } from '../model/intent.ts';
import { isWithin, type Place } from '../model/path.ts';
import type { Sighting } from '../model/sighting.ts';
import { invalidArgument, type Refusal } from '../model/verdict.ts';
import type { Found, Located } from '../workspace/workspace.ts';
import { folderEffects, madeEffects, makeFolderStep, nothingStep } from './folder-step.ts';
import { type DepartingFolder, heldInside, heldRefusal, told } from './held.ts';
import { type LookedFile, look } from './look.ts';
import {
  closedUnlessOk,
  cure,
  destinationRefusal,
  notPrepared,
  type Prepared,
  unreadableLink,
  unverifiable,
} from './prepared.ts';
import {
  ABSENT,
  type Displaced,
  type Done,
  fileAt,
  type Step,
  sideOf,
  type UnknownFile,
  unknownFile,
} from './step.ts';
import { putFileBack } from './tree-step.ts';
import type { World } from './world.ts';

type MoveIntent = Extract<FileIntent, { kind: 'move' }>;
type MkdirIntent = Extract<FileIntent, { kind: 'mkdir' }>;

interface Move {
  readonly source: Found;
  readonly destination: Located;
  /** The state of the source, for the journal. */
  readonly side: Side;
  /** The file at the destination that the session may overwrite. */
  readonly overwrites: Snapshot | undefined;
  /**
   * The lines that the session has seen of the source and, for a folder, of everything below it.
   */
  readonly sightings: readonly Sighting[];
}

/**
 * Judges a move. The session need not have seen the source. A file at the destination is
 * overwritten, so the session must have seen it.
 */
export async function prepareMove(world: World, ledger: Ledger, intent: MoveIntent): Promise<Prepared> {
  const source = await look(world, ledger, {
    path: intent.source,
    action: 'move',
    links: 'parents',
    depth: 'glance',
  });
  if (!source.ok) return source;
  return closedUnlessOk({ view: source.view, intent }, async () => {
    const destination = await look(world, ledger, {
      path: intent.destination,
      action: 'overwrite',
      links: 'parents',
      depth: 'bytes',
    });
    if (!destination.ok) return destination;
    const both = { source: source.view, destination: destination.view };
    return closedUnlessOk({ view: both.destination, intent }, () =>
      judged(world, ledger, { intent, ...both }),
    );
  });
}

interface LookedMove {
  readonly intent: MoveIntent;
  readonly source: LookedFile;
  readonly destination: LookedFile;
}

async function judged(
  world: World,
  ledger: Ledger,
  { intent, source, destination }: LookedMove,
): Promise<Prepared> {
  const leaving = judge(source.facts, world.policy);
  if (leaving.outcome === 'refuse') return notPrepared(leaving.refusal);
  if (!source.located.exists)
    return notPrepared({ code: 'NOT_FOUND', action: 'move', path: intent.source, next: 'list' });
  const blocked =
    whyBlocked({ intent, source, destination }) ??
    whyHeld(world, source.located, { to: destination.path, session: ledger.session });
  if (blocked !== undefined) return notPrepared(blocked);
  const arriving = judge({ ...destination.facts, contentKind: 'file' }, world.policy);
  if (arriving.outcome === 'refuse') {
    return arriving.refusal.code === 'STALE'
      ? cure(world, destination, { refusal: arriving.refusal })
      : notPrepared(arriving.refusal);
  }
  if (destination.located.exists && destination.snapshot === undefined)
    return notPrepared(unverifiable('overwrite', intent.destination));
  const { place, stats } = source.located;
  if (stats.isSymbolicLink() && linkTarget(place) === undefined)
    return notPrepared(unreadableLink('move', intent.source));
  const side = await sideOfSource(world, source.located);
  if ('problem' in side)
    return notPrepared(unknownFile(world, { action: 'move', path: intent.source }, side));
  const overwrites = destination.located.exists ? destination.snapshot : undefined;
  const sightings = await sightingsOf(ledger, source);
  const step = moveStep(world, {
    source: source.located,
    destination: destination.located,
    side,
    overwrites,
    sightings,
  });
  return { ok: true, step: told(step, arriving.notices) };
}

function whyBlocked({ intent, source, destination }: LookedMove): Refusal | undefined {
  const from = source.path.key;
  const to = destination.path.key;
  if (isWithin(to, from)) {
    const reason = to === from ? 'source and destination are the same' : 'it cannot be moved into itself';
    return invalidArgument('move', intent.source, reason);
  }
  if (intent.makeParents === false && !destination.located.exists && destination.located.missing.length > 1) {
    return destinationRefusal('NOT_FOUND', intent, 'the folder it would go into does not exist');
  }
  if (!destination.located.exists) return undefined;
  if (intent.overwrite === false)
    return destinationRefusal('ALREADY_EXISTS', intent, 'this call does not allow replacing it');
  const both = source.located.exists && source.located.stats.isFile() && destination.located.stats.isFile();
  return both
    ? undefined
    : destinationRefusal('ALREADY_EXISTS', intent, 'only a file may take the place of a file');
}

/**
 * The refusal to move a folder that contains an entry which must stay, such as a protected path.
 * Undefined if there is no such entry, or if the source is no folder.
 */
function whyHeld(
  world: World,
  { place, stats }: Found,
  departing: Omit<DepartingFolder, 'path'>,
): Refusal | undefined {
  if (!stats.isDirectory()) return undefined;
  const dir = place.dir.enter(place.name);
  try {
    const held = heldInside(world, dir, { path: place.path, ...departing });
    return held && heldRefusal('move', place.path, held);
  } finally {
    dir.close();
  }
}

async function sideOfSource(world: World, source: Found): Promise<Side | UnknownFile> {
  if (source.stats.isDirectory()) return { kind: 'directory', mode: Number(source.stats.mode & 0o777n) };
  if (source.stats.isSymbolicLink()) return { kind: 'link', target: linkTarget(source.place) ?? '' };
  const found = await fileAt(world, source.place, { maxBytes: world.policy.maxEditBytes });
  if ('problem' in found || found.side.kind !== 'file') return 'problem' in found ? found : found.side;
  return { ...found.side, kept: false };
}

async function sightingsOf(ledger: Ledger, source: LookedFile): Promise<readonly Sighting[]> {
  if (source.located.exists && source.located.stats.isDirectory())
    return sightingsBelow(ledger, source.path.key);
  return source.sighting === undefined ? [] : [source.sighting];
}

/** Judges the creation of a folder. If it exists already, nothing changes. */
export async function prepareMkdir(world: World, ledger: Ledger, intent: MkdirIntent): Promise<Prepared> {
  const outcome = await look(world, ledger, { path: intent.path, action: 'mkdir', depth: 'glance' });
  if (!outcome.ok) return outcome;
  const { view } = outcome;
  const verdict = judge(view.facts, world.policy);
  if (verdict.outcome === 'refuse') {
    view.located.place.dir.close();
    return notPrepared(verdict.refusal);
  }
  return {
    ok: true,
    step: view.located.exists ? nothingStep(view.located) : makeFolderStep(world, view.located),
  };
}

/**
 * Moves a file, link or folder. Keeps the overwritten file for an undo. What the session has seen
 * of the source now counts for the new path.
 */
function moveStep(world: World, change: Move): Step {
  const { source, destination } = change;
  const from = source.place;
  let folders: MadeFolders | undefined;
  let to: Place | undefined;
  let displaced: readonly Displaced[] = [];
  let moved = false;
  let left = false;

  const restoreDestination = async (): Promise<boolean> => {
    const restored = to === undefined || (await putBack(world, to, { change, displaced }));
    folders?.undo();
    return restored;
  };

  return {
    action: 'move',
    path: destination.place.path,
    effects: [...folderEffects(destination), ...endsOf(change)],
    run: async () => {
      to = placeOf();
      const cleared = await clear(world, to, change.overwrites);
      if ('reason' in cleared) return cleared;
      displaced = cleared;
      try {
        await folders?.sync();
        const outcome = await move(world.disk, from, to);
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
      const back = await move(world.disk, to, from);
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

/** Moves the overwritten file out of the workspace and keeps it. */
async function clear(
  world: World,
  place: Place,
  overwrites: Snapshot | undefined,
): Promise<Displaced[] | Conflict> {
  if (overwrites === undefined) return [];
  const { fingerprint, bytes } = overwrites;
  const outcome = await remove(world.disk, place, { fingerprint, bytes });
  if (!outcome.ok) return outcome;
  return outcome.displaced === undefined ? [] : [{ file: outcome.displaced, ...fingerprint }];
}

/** Moves the overwritten file back. */
async function putBack(
  world: World,
  place: Place,
  { change, displaced }: { readonly change: Move; readonly displaced: readonly Displaced[] },
): Promise<boolean> {
  const [file] = displaced;
  if (change.overwrites === undefined || file === undefined) return true;
  const { fingerprint, stats } = change.overwrites;
  const side = { kind: 'file', fingerprint, mode: modeOf(stats), kept: true } as const;
  return putFileBack(world, place, { side, displaced: file.file });
}

/** The effects at the old and the new path. */
function endsOf({ source, destination, side, overwrites }: Move): Effect[] {
  const from = source.place.path;
  const to = destination.place.path;
  return [
    { key: from.key, relative: from.relative, before: side, after: ABSENT, movedTo: to.key },
    {
      key: to.key,
      relative: to.relative,
      ...(overwrites === undefined
        ? { before: ABSENT }
        : { before: sideOf(overwrites), sinceUs: microseconds(overwrites.stats.ctimeNs) }),
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
