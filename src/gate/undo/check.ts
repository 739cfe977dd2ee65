import { fingerprintOf } from '../../disk/hash.ts';
import type { Snapshot } from '../../disk/read.ts';
import { sameContent } from '../../journal/side.ts';
import type { UndoStep } from '../../journal/undo-steps.ts';
import type { Side } from '../../model/entry.ts';
import type { UndoSelection } from '../../model/session.ts';
import { type Outcome, type Refusal, refused } from '../../model/verdict.ts';
import { decodeText } from '../../text/decode.ts';
import { merge3 } from '../../text/merge.ts';
import { unifiedDiff } from '../../text/unified.ts';
import { sideOfLocated } from '../side-at.ts';
import type { World } from '../world.ts';

/** A step that can be taken, and the bytes that are there now. */
export interface Found {
  readonly step: UndoStep;
  readonly snapshot?: Snapshot | undefined;
  /** What is to be restored, if it is neither what is there nor what was there before. */
  readonly merged?: Snapshot['bytes'];
}

/** Sees of every step that what is there is what the plan expects, and that what is to come back can be had. */
export async function checkSteps(
  world: World,
  steps: readonly UndoStep[],
  selection: UndoSelection,
): Promise<Outcome<{ readonly found: readonly Found[] }>> {
  const found: Found[] = [];
  for (const step of steps) {
    const outcome = await check(world, step, selection);
    if (!outcome.ok) return outcome;
    found.push(outcome);
  }
  const present = presentBytes(found);
  for (const { step } of found) if (!(await canRestore(world, step, present))) return refused(notKept(step));
  return { ok: true, found };
}

/** What the steps find or bring by themselves, by hash: a step may restore the very bytes that another one displaces. */
export function presentBytes(found: readonly Found[]): ReadonlyMap<string, Uint8Array> {
  const present = new Map<string, Uint8Array>();
  for (const { step, snapshot, merged } of found) {
    if (snapshot !== undefined) present.set(snapshot.fingerprint.sha256, snapshot.bytes);
    if (merged !== undefined && step.restore.kind === 'file')
      present.set(step.restore.fingerprint.sha256, merged);
  }
  return present;
}

async function check(world: World, step: UndoStep, selection: UndoSelection): Promise<Outcome<Found>> {
  if (step.lookAt === undefined) return { ok: true, step };
  const outcome = world.workspace.locate(step.lookAt, 'undo', 'parents');
  if (!outcome.ok) return outcome;
  try {
    const { side, snapshot } = await sideOfLocated(world, outcome.located);
    if (sameContent(side, step.expect)) return { ok: true, step, snapshot };
    // Already as it was before: someone took the change back by hand.
    if (sameContent(side, step.restore)) return { ok: true, step: { ...step, expect: side }, snapshot };
    const merged = selection.merge === true ? await merge(world, step, snapshot) : undefined;
    if (merged !== undefined) return { ok: true, ...merged, snapshot };
    return refused(await changedSince(world, { step, side, snapshot }));
  } finally {
    outcome.located.place.dir.close();
  }
}

async function canRestore(
  world: World,
  { expect, restore }: UndoStep,
  present: ReadonlyMap<string, Uint8Array>,
): Promise<boolean> {
  if (restore.kind !== 'file' || sameContent(expect, restore)) return true;
  return present.has(restore.fingerprint.sha256) || world.images.has(restore.fingerprint.sha256);
}

function notKept({ relative }: UndoStep): Refusal {
  const detail = { reason: 'its earlier bytes are no longer kept' };
  return { code: 'NOT_FOUND', action: 'undo', path: relative, next: 'none', detail };
}

/** What was changed since is carried over: base is what our change left, theirs what is there, ours what was before. */
async function merge(
  world: World,
  step: UndoStep,
  snapshot: Snapshot | undefined,
): Promise<Found | undefined> {
  if (step.expect.kind !== 'file' || step.restore.kind !== 'file' || snapshot === undefined) return undefined;
  const base = await world.baselines.recall(step.expect.fingerprint);
  if (base === undefined) return undefined;
  const texts = [base, await world.images.read(step.restore.fingerprint), snapshot.bytes].map((bytes) =>
    decodeText(bytes),
  );
  const [from, ours, theirs] = texts;
  if (from === undefined || ours === undefined || theirs === undefined || theirs.encoding !== 'utf-8')
    return undefined;
  const merged = merge3(from.text, ours.text, theirs.text);
  if (!merged.clean) return undefined;
  const bytes = Buffer.from(`${theirs.bom ? '\ufeff' : ''}${merged.text}`, 'utf8');
  const fingerprint = fingerprintOf(bytes);
  const expect: Side = { ...step.expect, fingerprint: snapshot.fingerprint };
  return { step: { ...step, expect, restore: { ...step.restore, fingerprint, kept: true } }, merged: bytes };
}

async function changedSince(
  world: World,
  { step, side, snapshot }: { step: UndoStep; side: Side; snapshot: Snapshot | undefined },
): Promise<Refusal> {
  const base = { action: 'undo', path: step.relative } as const;
  if (side.kind === 'absent') {
    return {
      ...base,
      code: 'DELETED',
      next: 'ask_human',
      detail: { reason: 'it was deleted since that change' },
    };
  }
  const reason = 'it was changed since that change';
  const left =
    step.expect.kind === 'file' ? await world.baselines.recall(step.expect.fingerprint) : undefined;
  if (left === undefined || snapshot === undefined)
    return { ...base, code: 'STALE', next: 'ask_human', detail: { reason } };
  const { text } = unifiedDiff<Uint8Array>(left, snapshot.bytes, { maxLines: world.policy.maxDiffLines });
  return { ...base, code: 'STALE', next: 'ask_human', detail: { reason, diff: text } };
}
