import { fingerprintOf, modeOf, readSnapshot, type Snapshot } from '../disk/read.ts';
import { judge } from '../judge/judge.ts';
import { ABSENT } from '../model/delta.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { FileIntent } from '../model/intent.ts';
import { LIMITS } from '../model/limits.ts';
import { isBelow, type ResolvedPath } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import { type Sighting, showsAll } from '../model/sighting.ts';
import { invalidArgument, type Refusal } from '../model/verdict.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { movedSightings } from '../views/sightings.ts';
import { fileState, sideOf } from './found.ts';
import { type BatchMoves, type Relocation, routeOf } from './keys.ts';
import { type LookedFile, look } from './look.ts';
import type { ChangePlan, PlannedDelta } from './plan.ts';
import { prepareText } from './prepare-edit.ts';
import {
  type Denied,
  destinationRefusal,
  notPrepared,
  type Prepared,
  unverifiable,
  withCure,
} from './prepared.ts';
import type { World } from './world.ts';

type TextIntent = Extract<FileIntent, { kind: 'edit' | 'insert' }>;
/**
 * Judges a change that writes a file's bytes at another path. The file at the old path is removed, unless another
 * change of the batch fills that path. Works for swaps and chains of any length, because every file is read before the
 * first one is written.
 */
export async function prepareRelocation(
  world: World,
  knowledge: Knowledge,
  { change, moves }: { readonly change: Relocation; readonly moves: BatchMoves },
): Promise<Prepared> {
  const content = await contentOf(world, knowledge, change);
  if (!content.ok) return content;
  const route = routeOf(change);
  if (route === undefined) return { ok: true, plan: planOf(world, { change, content, arrival: undefined }) };
  const arrival = await arrivalOf(world, knowledge, { change, content, to: route.to, moves });
  if ('ok' in arrival) return arrival;
  const stays = moves.filled.has(content.path.key);
  return { ok: true, plan: planOf(world, { change, content, arrival: { ...arrival, stays } }) };
}

/** The content of the file to relocate: now, and after the edit if the change also edits it. */
interface Content {
  readonly ok: true;
  readonly path: ResolvedPath;
  readonly before: Snapshot;
  readonly bytes: Uint8Array;
  /**
   * For a file that only moves: what the session has seen of it, to be recorded for the new path.
   * For an edited file, see `seen`.
   */
  readonly moved?: Sighting | undefined;
  readonly seen?: ChangePlan['seen'];
  readonly notices: readonly Notice[];
  readonly more: object;
  readonly preview?: ChangePlan['preview'] | undefined;
}

async function contentOf(world: World, knowledge: Knowledge, change: Relocation): Promise<Content | Denied> {
  const path = change.kind === 'move' ? change.source : change.path;
  const request = { path, action: 'move', links: 'parents', depth: 'glance' } as const;
  return look(world, knowledge, request, async (view): Promise<Content | Denied> => {
    const verdict = judge(view.facts, world.policy);
    if (verdict.outcome === 'refuse') return notPrepared(verdict.refusal);
    if (!view.located.exists) return notPrepared({ code: 'NOT_FOUND', action: 'move', path, next: 'list' });
    if (!view.located.stats.isFile()) return notPrepared(invalidArgument('move', path, ONLY_FILES));
    const limits = { clock: world.disk.clock, maxBytes: LIMITS.maxEditBytes };
    const before = await readSnapshot(view.located.place, limits);
    if ('problem' in before) return notPrepared(unverifiable('move', path));
    const found = { ok: true, path: view.path, before } as const;
    if (change.kind !== 'move') return await edited(world, knowledge, { change, found });
    return { ...found, bytes: before.bytes, moved: view.sighting, notices: verdict.notices, more: {} };
  });
}

async function edited(
  world: World,
  knowledge: Knowledge,
  { change, found }: { change: TextIntent; found: Pick<Content, 'ok' | 'path' | 'before'> },
): Promise<Content | Denied> {
  const inPlace =
    change.kind === 'edit'
      ? { ...change, moveTo: undefined, executable: undefined }
      : { ...change, moveTo: undefined };
  const prepared = await prepareText(world, knowledge, inPlace);
  if (!prepared.ok) return prepared;
  const { plan } = prepared;
  const bytes = plan.bytes?.bytes ?? found.before.bytes;
  const { preview, more = {}, seen, result } = plan;
  return { ...found, bytes, seen, notices: result.notices, more, preview };
}

interface Arrival {
  readonly path: ResolvedPath;
  /** The file that is overwritten, or undefined if there is none. */
  readonly overwrites: Snapshot | undefined;
  readonly notices: readonly Notice[];
}

/**
 * Judges the destination. The session need not have seen a file that another change of the batch
 * moves away: its bytes are not lost.
 */
async function arrivalOf(
  world: World,
  knowledge: Knowledge,
  { change, content, to, moves }: { change: Relocation; content: Content; to: string; moves: BatchMoves },
): Promise<Arrival | Prepared> {
  const request = { path: to, action: 'overwrite', links: 'parents', depth: 'bytes' } as const;
  return look(world, knowledge, request, async (view): Promise<Arrival | Prepared> => {
    const blocked = whyBlocked(view, { change, content, to });
    if (blocked !== undefined) return notPrepared(blocked);
    const { path, located } = view;
    if (!located.exists) return { path, overwrites: undefined, notices: [] };
    const facts = { ...view.facts, ...(change.kind === 'move' ? { contentKind: 'file' as const } : {}) };
    const verdict = moves.left.has(path.key) ? undefined : judge(facts, world.policy);
    if (verdict?.outcome === 'refuse') return withCure(world, view, verdict.refusal);
    const limits = { clock: world.disk.clock, maxBytes: LIMITS.maxEditBytes };
    const overwrites = view.snapshot ?? (await readSnapshot(located.place, limits));
    if ('problem' in overwrites) return notPrepared(unverifiable('overwrite', to));
    return { path, overwrites, notices: verdict?.notices ?? [] };
  });
}

const ONLY_FILES = 'only files can be edited and moved in one step, or swap places within a batch';

function whyBlocked(
  { path, located }: LookedFile,
  { change, content, to }: { change: Relocation; content: Content; to: string },
): Refusal | undefined {
  if (path.key === content.path.key)
    return invalidArgument('move', to, 'source and destination are the same');
  if (isBelow(path.key, content.path.key))
    return invalidArgument('move', to, 'the source is a file, so nothing can be inside it');
  const makesParents = change.kind !== 'move' || change.makeParents !== false;
  if (!located.exists && (makesParents || located.missing.length === 1)) return undefined;
  const ends = { source: content.path.given, destination: to };
  if (!located.exists)
    return destinationRefusal('NOT_FOUND', ends, 'the folder it would go into does not exist');
  if (change.kind === 'move' && change.overwrite === false)
    return destinationRefusal('ALREADY_EXISTS', ends, 'this call does not allow replacing it');
  return located.stats.isFile() ? undefined : invalidArgument('move', to, ONLY_FILES);
}

interface RelocationParts {
  readonly change: Relocation;
  readonly content: Content;
  /** The destination of a move. Undefined if only the permissions change. */
  readonly arrival: (Arrival & { readonly stays: boolean }) | undefined;
}

function planOf(world: World, { change, content, arrival }: RelocationParts): ChangePlan {
  const { path: from, before, bytes } = content;
  const path = arrival?.path ?? from;
  const fingerprint = fingerprintOf(bytes);
  const mode = modeAfter(change, before);
  const isSame = fingerprint.sha256 === before.fingerprint.sha256 && mode === (modeOf(before.stats) & 0o777);
  const changed = arrival !== undefined || !isSame;
  const old = arrival === undefined ? before : arrival.overwrites;
  world.baselines.remember(fingerprint, bytes);
  const sightings = shownAt(world, content, { path, fingerprint });
  const put = {
    ...deltaAt(path, old),
    after: fileState(fingerprint, mode, 'none'),
    bytes: () => bytes,
  };
  const takes = arrival !== undefined && !arrival.stays;
  return {
    action: change.kind,
    path,
    deltas: !changed ? [] : takes ? [put, deltaAt(from, before)] : [put],
    bytes: { bytes, fingerprint },
    result: {
      ...content.more,
      path: path.given,
      changed,
      created: false,
      sizeBytes: bytes.byteLength,
      ...revisionOf(world, sightings, fingerprint),
      notices: [...content.notices, ...(arrival?.notices ?? [])],
    },
    sightings: changed ? sightings : [],
    tombstones: takes ? [from.key] : [],
    preview: content.preview ?? (() => ({ sizeBytes: bytes.byteLength })),
  };
}

/** The removal of a file; without one, a delta of an absent path. */
function deltaAt(path: ResolvedPath, file: Snapshot | undefined): PlannedDelta {
  const { key, relative } = path;
  if (file === undefined) return { key, relative, path, before: ABSENT, after: ABSENT };
  return { key, relative, path, before: sideOf(file), after: ABSENT, was: file };
}

function modeAfter(change: Relocation, { stats }: Snapshot): number {
  const mode = modeOf(stats) & 0o777;
  if (change.kind !== 'edit' || change.executable === undefined) return mode;
  // Let everyone who may read the file execute it, as git does.
  return change.executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
}

function shownAt(
  world: World,
  { path: from, seen, moved }: Content,
  { path, fingerprint }: { readonly path: ResolvedPath; readonly fingerprint: Fingerprint },
): readonly Sighting[] {
  if (seen !== undefined)
    return [{ ...seen, key: path.key, fingerprint, stamp: undefined, racy: true, atMs: world.now() }];
  return movedSightings(moved === undefined ? [] : [moved], { from: from.key, to: path.key });
}

function revisionOf(
  world: World,
  [seen]: readonly Sighting[],
  fingerprint: Fingerprint,
): { readonly revision?: string } {
  const isWhole = seen?.coverage.kind === 'whole' && showsAll(seen.flags);
  const isCurrent = seen?.fingerprint?.sha256 === fingerprint.sha256;
  return isWhole && isCurrent ? { revision: world.revisionOf(fingerprint) } : {};
}
