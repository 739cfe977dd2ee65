import { linkTarget } from '../disk/list.ts';
import type { Snapshot } from '../disk/read.ts';
import { judge } from '../judge/judge.ts';
import { ABSENT, microseconds, type State } from '../model/delta.ts';
import type { Stamp } from '../model/fingerprint.ts';
import type { FileIntent } from '../model/intent.ts';
import { LIMITS } from '../model/limits.ts';
import { isWithin } from '../model/path.ts';
import type { Sighting } from '../model/sighting.ts';
import { invalidArgument, type Refusal } from '../model/verdict.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { movedSightings } from '../views/sightings.ts';
import type { Found, Located } from '../workspace/workspace.ts';
import { fileAt, sideOf, stateWithoutBytes, type UnknownFile, unknownFile } from './found.ts';
import { type DepartingFolder, heldInside, heldRefusal } from './held.ts';
import { type LookedFile, look } from './look.ts';
import { type ChangePlan, type PlannedDelta, told } from './plan.ts';
import {
  destinationRefusal,
  notPrepared,
  type Prepared,
  unreadableLink,
  unverifiable,
  withCure,
  withEvidence,
} from './prepared.ts';
import { learnSecretAt } from './secret-values.ts';
import type { World } from './world.ts';

type MoveIntent = Extract<FileIntent, { kind: 'move' }>;
type MkdirIntent = Extract<FileIntent, { kind: 'mkdir' }>;

interface Move {
  readonly source: Found;
  readonly destination: Located;
  /** The state of the source, for the journal. */
  readonly side: State;
  /** The stamp of a file, if an unchanged stamp proves unchanged bytes. */
  readonly stamp?: Stamp;
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
export function prepareMove(world: World, knowledge: Knowledge, intent: MoveIntent): Promise<Prepared> {
  const from = { path: intent.source, action: 'move', links: 'parents', depth: 'glance' } as const;
  const to = { path: intent.destination, action: 'overwrite', links: 'parents', depth: 'bytes' } as const;
  return look(world, knowledge, from, async (source) => {
    const prepared = await look(world, knowledge, to, async (destination) =>
      withEvidence(await judged(world, knowledge, { intent, source, destination }), destination, intent),
    );
    return withEvidence(prepared, source, intent);
  });
}

interface LookedMove {
  readonly intent: MoveIntent;
  readonly source: LookedFile;
  readonly destination: LookedFile;
}

async function judged(
  world: World,
  knowledge: Knowledge,
  { intent, source, destination }: LookedMove,
): Promise<Prepared> {
  const leaving = judge(source.facts, world.policy);
  if (leaving.outcome === 'refuse') return notPrepared(leaving.refusal);
  if (!source.located.exists)
    return notPrepared({ code: 'NOT_FOUND', action: 'move', path: intent.source, next: 'list' });
  const blocked =
    whyBlocked({ intent, source, destination }) ??
    (await whyHeld(world, source.located, { to: destination.path, asking: knowledge }));
  if (blocked !== undefined) return notPrepared(blocked);
  const arriving = judge({ ...destination.facts, contentKind: 'file' }, world.policy);
  if (arriving.outcome === 'refuse') return withCure(world, destination, arriving.refusal);
  if (destination.located.exists && destination.snapshot === undefined)
    return notPrepared(unverifiable('overwrite', intent.destination));
  const { place, stats } = source.located;
  if (stats.isSymbolicLink() && linkTarget(place) === undefined)
    return notPrepared(unreadableLink('move', intent.source));
  // The values stay masked under the new name.
  await learnSecretAt(world, source.path.key);
  const found = await sideOfSource(world, source.located);
  if ('problem' in found) return notPrepared(unknownFile({ action: 'move', path: intent.source }, found));
  const plan = movePlan({
    source: source.located,
    destination: destination.located,
    ...found,
    overwrites: destination.located.exists ? destination.snapshot : undefined,
    sightings: await sightingsOf(knowledge, source),
  });
  return { ok: true, plan: told(plan, arriving.notices) };
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
async function whyHeld(
  world: World,
  { place, stats }: Found,
  departing: Omit<DepartingFolder, 'path'>,
): Promise<Refusal | undefined> {
  if (!stats.isDirectory()) return undefined;
  const dir = place.dir.enter(place.name);
  try {
    const held = await heldInside(world, dir, { path: place.path, ...departing });
    return held && heldRefusal('move', place.path, held);
  } finally {
    dir.close();
  }
}

async function sideOfSource(
  world: World,
  source: Found,
): Promise<Pick<Move, 'side' | 'stamp'> | UnknownFile> {
  const unread = stateWithoutBytes(source);
  if (unread !== undefined) return { side: unread };
  const found = await fileAt(world, source.place, { maxBytes: LIMITS.maxEditBytes });
  return 'problem' in found ? found : { side: found.side, ...(found.stamp && { stamp: found.stamp }) };
}

async function sightingsOf(knowledge: Knowledge, source: LookedFile): Promise<readonly Sighting[]> {
  if (source.located.exists && source.located.stats.isDirectory()) return knowledge.below(source.path.key);
  return source.sighting === undefined ? [] : [source.sighting];
}

/** Judges the creation of a folder. If it exists already, nothing changes. */
export function prepareMkdir(world: World, knowledge: Knowledge, intent: MkdirIntent): Promise<Prepared> {
  const request = { path: intent.path, action: 'mkdir', depth: 'glance' } as const;
  return look(world, knowledge, request, ({ facts, located }): Prepared => {
    const verdict = judge(facts, world.policy);
    if (verdict.outcome === 'refuse') return notPrepared(verdict.refusal);
    return { ok: true, plan: makeFolderPlan(located) };
  });
}

function makeFolderPlan(located: Located): ChangePlan {
  const { path } = located.place;
  const { key, relative } = path;
  const isNew = !located.exists;
  const after: State = { kind: 'directory', mode: 0o755 };
  const missing = located.exists ? undefined : located.missing;
  const made: PlannedDelta = { key, relative, path, missing, before: ABSENT, after, mode: 'default' };
  return {
    action: 'mkdir',
    path,
    deltas: isNew ? [made] : [],
    result: { path: path.given, changed: isNew, created: isNew, sizeBytes: 0, notices: [] },
    sightings: [],
    tombstones: [],
  };
}

/**
 * Moves a file, link or folder. The file that it overwrites is removed first. The session's views
 * of the source then count for the new path.
 */
function movePlan({ source, destination, side, stamp, overwrites, sightings }: Move): ChangePlan {
  const from = source.place.path;
  const { path } = destination.place;
  const at = { key: path.key, relative: path.relative, path };
  const missing = destination.exists ? undefined : destination.missing;
  const cleared: PlannedDelta[] =
    overwrites === undefined
      ? []
      : [
          {
            ...at,
            before: sideOf(overwrites),
            after: ABSENT,
            was: overwrites,
            sinceUs: microseconds(overwrites.stats.ctimeNs),
          },
        ];
  const movedFrom = { key: from.key, relative: from.relative };
  return {
    action: 'move',
    path,
    deltas: [...cleared, { ...at, missing, before: ABSENT, after: side, movedFrom, stamp }],
    result: {
      path: path.given,
      changed: true,
      created: false,
      sizeBytes: Number(source.stats.size),
      notices: [],
    },
    sightings: movedSightings(sightings, { from: from.key, to: path.key }),
    tombstones: sightings.map(({ key }) => key),
  };
}
