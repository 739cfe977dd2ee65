import { hash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { grantsFor } from '../journal/grants.ts';
import { errnoOf } from '../model/fault.ts';
import type { FileIntent, HostIntent } from '../model/intent.ts';
import type { Sighting } from '../model/sighting.ts';
import type { FileState, Refusal, RefusalCode, RefusalOf } from '../model/verdict.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { foundAt } from './found.ts';
import { guardPlan } from './guarded-files.ts';
import { type BatchMoves, batchMoves, isRelocation, pathsOf } from './keys.ts';
import { prepareDelete } from './prepare-delete.ts';
import { prepareText } from './prepare-edit.ts';
import { prepareMkdir, prepareMove } from './prepare-move.ts';
import { prepareRelocation } from './prepare-relocation.ts';
import { prepareWrite } from './prepare-write.ts';
import { type Denied, notPrepared, type Prepared } from './prepared.ts';
import type { World } from './world.ts';

/**
 * Maximum time to wait until another process has recorded what the session was shown. That takes
 * some milliseconds after the answer, or longer on a busy machine.
 */
const PATIENCE_MS = 250;
const STEP_MS = 10;

/**
 * Refusals of a change because the session has not seen the file. They become invalid if another
 * process records that the session has seen it.
 */
const FOR_LACK: ReadonlySet<RefusalCode> = new Set<RefusalCode>(['NOT_READ', 'PARTIALLY_READ']);

/** A change, and the paths that the moves of its batch leave and fill. */
interface InBatch {
  readonly change: FileIntent;
  readonly moves: BatchMoves;
}

/**
 * Judges changes and returns a plan or a refusal for each, in the same order. The caller must hold
 * the locks of their files. If another process has the same session open, that process may be about
 * to record a read. Then changes that were refused as unread are judged again for a short time.
 */
export async function prepareAll(
  world: World,
  knowledge: Knowledge,
  changes: readonly FileIntent[],
  moves: BatchMoves = batchMoves(world, changes),
): Promise<Prepared[]> {
  const prepared: Prepared[] = [];
  for (const change of changes) prepared.push(await prepareOne(world, knowledge, { change, moves }));
  if (prepared.some(lacksSighting) && (await hasSibling(world, knowledge.session)))
    await prepareAgain(world, knowledge, { changes, moves, prepared });
  return prepared;
}

async function prepareAgain(
  world: World,
  knowledge: Knowledge,
  {
    changes,
    moves,
    prepared,
  }: Pick<InBatch, 'moves'> & { readonly changes: readonly FileIntent[]; readonly prepared: Prepared[] },
): Promise<void> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS && prepared.some(lacksSighting); waitedMs += STEP_MS) {
    await setTimeout(STEP_MS);
    knowledge.lookAgain();
    for (const [index, change] of changes.entries())
      if (lacksSighting(prepared[index]))
        prepared[index] = await prepareOne(world, knowledge, { change, moves });
  }
}

/**
 * Judges one change and returns its plan, or the refusal. `batch`: all changes of the
 * call.
 */
export async function prepare(
  world: World,
  knowledge: Knowledge,
  change: FileIntent,
  batch: readonly FileIntent[] = [change],
): Promise<Prepared> {
  const moves = batchMoves(world, batch);
  const [prepared] = await prepareAll(world, knowledge, [change], moves);
  return prepared ?? prepareOne(world, knowledge, { change, moves });
}

/**
 * Judges one change once. If the system reports an error, for example for a folder without read
 * permission, refuses the change with UNVERIFIABLE. It throws no Fault, because nothing was
 * changed.
 */
async function prepareOne(world: World, knowledge: Knowledge, { change, moves }: InBatch): Promise<Prepared> {
  if (world.policy.readOnly)
    return notPrepared({
      code: 'READ_ONLY',
      ...triedOf(change),
      next: 'ask_human',
      detail: { cause: 'session' },
    });
  try {
    const first = await prepareAs(world, knowledge, { change, moves });
    const judge = (under: World): Promise<Prepared> => prepareAs(under, knowledge, { change, moves });
    const prepared = first.ok
      ? first
      : await reconsidered(world, knowledge, { change, judge, denied: first });
    const judging = prepared.ok ? guardPlan(world, knowledge, prepared.plan) : undefined;
    // Most changes concern no settings file. For them, this must not create a promise.
    const guarded = judging && (await judging);
    if (guarded === undefined) return prepared;
    return notPrepared(guarded);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return notPrepared({ code: 'UNVERIFIABLE', ...triedOf(change), next: 'ask_human', detail: { errno } });
  }
}

function triedOf(change: FileIntent): Pick<Refusal, 'action' | 'path'> {
  return { action: change.kind === 'write' ? 'overwrite' : change.kind, path: pathsOf(change)[0] ?? '' };
}

function prepareAs(world: World, knowledge: Knowledge, { change, moves }: InBatch): Promise<Prepared> {
  switch (change.kind) {
    case 'write':
      return prepareWrite(world, knowledge, change);
    case 'edit':
    case 'insert':
      return isRelocation(world, change, moves)
        ? prepareRelocation(world, knowledge, { change, moves })
        : prepareText(world, knowledge, change);
    case 'delete':
      return prepareDelete(world, knowledge, change);
    case 'move':
      return isRelocation(world, change, moves)
        ? prepareRelocation(world, knowledge, { change, moves })
        : prepareMove(world, knowledge, change);
    case 'mkdir':
      return prepareMkdir(world, knowledge, change);
    default:
      return change satisfies never;
  }
}

function lacksSighting(prepared: Prepared | undefined): boolean {
  return prepared?.ok === false && FOR_LACK.has(prepared.refusal.code);
}

async function hasSibling(world: World, session: string): Promise<boolean> {
  const { openIn = [] } = (await world.store.session(session)) ?? {};
  for (const owner of openIn) if (owner !== world.owner && (await world.isAlive(owner))) return true;
  return false;
}

/** The refusals that an operator's grant overrides: those about content the session has not seen. */
const EXEMPTED: ReadonlySet<RefusalCode> = new Set([
  'NOT_READ',
  'PARTIALLY_READ',
  'READ_EXPIRED',
  'STALE',
  'REDACTED_READ',
  'UNVERIFIABLE',
]);

interface SingleJudge<T> {
  readonly change: HostIntent;
  judge(world: World): Promise<T | Denied>;
}

/**
 * Judges a change. If it is refused and the operator has allowed its path with `lookfirst allow`,
 * judges it again with this grant. The caller must hold the locks of its files, so that two changes
 * cannot share a single-use grant.
 */
export async function judgeGranted<T extends { readonly ok: true }>(
  world: World,
  knowledge: Knowledge,
  judging: SingleJudge<T>,
): Promise<T | Denied> {
  const judged = await judging.judge(world);
  return judged.ok ? judged : reconsidered(world, knowledge, { ...judging, denied: judged });
}

/** Judges a refused change again, if the session has confirmed it or the operator has allowed it. */
async function reconsidered<T extends { readonly ok: true }>(
  world: World,
  knowledge: Knowledge,
  refused: SingleJudge<T> & { readonly denied: Denied },
): Promise<T | Denied> {
  const judged = await unlessConfirmed(world, knowledge, refused);
  if (judged.ok || !EXEMPTED.has(judged.refusal.code)) return judged;
  const { change } = refused;
  const paths = change.kind === 'touch' ? [change.path] : pathsOf(change);
  const keys = paths.flatMap((path) => {
    const resolved = world.workspace.resolve(path, 'status');
    return resolved.ok ? [resolved.path.key] : [];
  });
  const granted = await grantsFor(world.store, keys, knowledge.session);
  if (granted.length === 0) return judged;
  const under = { ...world, granted };
  const again = await refused.judge(under);
  return again.ok ? again : unlessConfirmed(under, knowledge, { ...refused, denied: again });
}

/**
 * Under `staleness: confirm`, the first try of a stale change is refused with a warning. Repeating
 * the change makes it, unless the file has changed again.
 */
async function unlessConfirmed<T extends { readonly ok: true }>(
  world: World,
  knowledge: Knowledge,
  { change, judge, denied }: SingleJudge<T> & { readonly denied: Denied },
): Promise<T | Denied> {
  const { refusal } = denied;
  if (world.policy.staleness !== 'confirm' || refusal.code !== 'STALE') return denied;
  const held = await holdBack(world, knowledge, { change, refusal });
  if (held !== 'confirmed') return held === undefined ? denied : { ...denied, ...held };
  return judge({ ...world, policy: { ...world.policy, staleness: 'warn' } });
}

/**
 * Decides about a stale change that must be confirmed. At the first try, returns the refusal with a
 * warning. At a second try for the same bytes, returns `confirmed`. Undefined if there is no file,
 * or no sighting in which to note the try.
 */
async function holdBack(
  world: World,
  knowledge: Knowledge,
  { change, refusal }: { readonly change: HostIntent; readonly refusal: RefusalOf<'STALE'> },
): Promise<Denied | 'confirmed' | undefined> {
  const path = change.kind === 'move' ? change.destination : change.path;
  const resolved = world.workspace.resolve(path, 'status');
  const sighting = resolved.ok ? await knowledge.recall(resolved.path.key) : undefined;
  if (sighting?.fingerprint === undefined) return undefined;
  const { snapshot } = await foundAt(world, sighting.key);
  if (snapshot === undefined) return undefined;
  const heldBack = { change: hashOf(change), bytes: snapshot.fingerprint.sha256 };
  const before = sighting.heldBack;
  if (before?.change === heldBack.change && before.bytes === heldBack.bytes) return 'confirmed';
  const seen = { ...sighting.fingerprint, ...timeOf(sighting) };
  const now = { ...snapshot.fingerprint, mtimeMs: Number(snapshot.stamp.mtimeNs / 1_000_000n) };
  const { revision: _, ...detail } = refusal.detail ?? {};
  return notPrepared({ ...refusal, detail: { ...detail, seen, now } }, { ...sighting, heldBack });
}

function timeOf({ stamp }: Sighting): Pick<FileState, 'mtimeMs'> {
  return stamp === undefined ? {} : { mtimeMs: Number(stamp.mtimeNs / 1_000_000n) };
}

/** Hashes changes as the caller gave them. Equal hashes mean equal changes. */
export function hashOf(change: HostIntent | readonly HostIntent[]): string {
  const text = JSON.stringify(change, (_key, value: unknown) =>
    value instanceof Uint8Array ? hash('sha256', value, 'hex') : value,
  );
  return hash('sha256', text, 'hex');
}
