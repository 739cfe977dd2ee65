import { fingerprintOf } from '../../disk/hash.ts';
import { sameContent } from '../../journal/side.ts';
import type { UndoStep } from '../../journal/undo-steps.ts';
import type { Side } from '../../model/entry.ts';
import type { UndoSelection } from '../../model/session.ts';
import { type Outcome, type Refusal, refused } from '../../model/verdict.ts';
import { decodeText } from '../../text/decode.ts';
import { merge3 } from '../../text/merge.ts';
import { unifiedDiff } from '../../text/unified.ts';
import type { World } from '../world.ts';
import { type Found, joinSteps } from './found.ts';
import { Rehearsal, type State } from './rehearsal.ts';

/**
 * Goes through the steps in order without touching the disk. Each one must find what the plan expects, on the disk or as
 * an earlier step leaves it, or be merged with it. Steps of one path become one. All bytes to be restored must be at hand.
 */
export async function checkSteps(
  world: World,
  steps: readonly UndoStep[],
  selection: UndoSelection,
): Promise<Outcome<{ readonly found: readonly Found[] }>> {
  const rehearsal = new Rehearsal(world, steps);
  const checked: Found[] = [];
  for (const step of steps) {
    const outcome = await check(rehearsal, step, selection);
    if (!outcome.ok) return outcome;
    rehearsal.done(outcome);
    checked.push(outcome);
  }
  const found = joinSteps(checked);
  const present = presentBytes(found);
  for (const { step } of found) if (!(await canRestore(world, step, present))) return refused(notKept(step));
  return { ok: true, found };
}

/** Bytes by hash that the steps find or make themselves: a step may restore the very bytes that another one displaces. */
export function presentBytes(found: readonly Found[]): ReadonlyMap<string, Uint8Array> {
  const present = new Map<string, Uint8Array>();
  for (const { step, snapshot, merged } of found) {
    if (snapshot !== undefined) present.set(snapshot.fingerprint.sha256, snapshot.bytes);
    if (merged !== undefined && step.restore.kind === 'file')
      present.set(step.restore.fingerprint.sha256, merged);
  }
  return present;
}

async function check(
  rehearsal: Rehearsal,
  step: UndoStep,
  selection: UndoSelection,
): Promise<Outcome<Found>> {
  const outcome = await rehearsal.at(step);
  if (!outcome.ok) return outcome;
  const { state } = outcome;
  if (state === undefined || sameContent(state.side, step.expect))
    return { ok: true, step, snapshot: state?.snapshot };
  const { side, snapshot } = state;
  // Already as it was before: someone took the change back by hand.
  if (sameContent(side, step.restore)) return { ok: true, step: { ...step, expect: side }, snapshot };
  const { world } = rehearsal;
  const merged = selection.merge === true ? await merge(world, step, state) : undefined;
  return merged === undefined ? refused(await changedSince(world, step, state)) : { ok: true, ...merged };
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

/** Three-way merge: base is what the change left, theirs what is there instead, ours what was there before the change. */
async function merge(
  world: World,
  step: UndoStep,
  { side, snapshot, bytes }: State,
): Promise<Found | undefined> {
  if (step.expect.kind !== 'file' || step.restore.kind !== 'file' || side.kind !== 'file') return undefined;
  const base = await world.baselines.recall(step.expect.fingerprint);
  const now = await bytesOf(world, { side, bytes });
  if (base === undefined || now === undefined) return undefined;
  const [from, ours, theirs] = [base, await world.images.read(step.restore.fingerprint), now].map((each) =>
    decodeText(each),
  );
  if (from === undefined || ours === undefined || theirs === undefined || theirs.encoding !== 'utf-8')
    return undefined;
  const text = merge3(from.text, ours.text, theirs.text);
  if (!text.clean) return undefined;
  const merged = Buffer.from(`${theirs.bom ? '\ufeff' : ''}${text.text}`, 'utf8');
  const expect: Side = { ...step.expect, fingerprint: side.fingerprint };
  const restore: Side = { ...step.restore, fingerprint: fingerprintOf(merged), kept: true };
  return { step: { ...step, expect, restore }, snapshot, merged };
}

async function changedSince(world: World, step: UndoStep, state: State): Promise<Refusal> {
  const base = { action: 'undo', path: step.relative } as const;
  if (state.side.kind === 'absent') {
    const detail = { reason: 'it was deleted since that change' };
    return { ...base, code: 'DELETED', next: 'ask_human', detail };
  }
  const reason = 'it was changed since that change';
  const now = await bytesOf(world, state);
  const left =
    step.expect.kind === 'file' ? await world.baselines.recall(step.expect.fingerprint) : undefined;
  if (left === undefined || now === undefined)
    return { ...base, code: 'STALE', next: 'ask_human', detail: { reason } };
  const { text } = unifiedDiff<Uint8Array>(left, now, { maxLines: world.policy.maxDiffLines });
  return { ...base, code: 'STALE', next: 'ask_human', detail: { reason, diff: text } };
}

async function bytesOf(world: World, { side, bytes }: State): Promise<Uint8Array | undefined> {
  if (bytes !== undefined || side.kind !== 'file') return bytes;
  return world.baselines.recall(side.fingerprint);
}
