import { fingerprintOf } from '../disk/hash.ts';
import type { Snapshot } from '../disk/read.ts';
import { sameContent } from '../journal/side.ts';
import { entriesForUndo } from '../journal/undo-entries.ts';
import { planUndo, type UndoPlan } from '../journal/undo-plan.ts';
import type { UndoTarget } from '../journal/undo-selection.ts';
import type { UndoStep } from '../journal/undo-steps.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Side } from '../model/entry.ts';
import type { ResolvedPath } from '../model/path.ts';
import type { UndoneFile, UndoResult } from '../model/results.ts';
import type { UndoSelection } from '../model/session.ts';
import { type Outcome, type Refusal, refused } from '../model/verdict.ts';
import { decodeText } from '../text/decode.ts';
import { merge3 } from '../text/merge.ts';
import { unifiedDiff } from '../text/unified.ts';
import { carryOut } from './carry-out.ts';
import { missingFolder, notLocked } from './keys.ts';
import { lockKeys } from './recover.ts';
import { restoreStep } from './restore-step.ts';
import { sideOfLocated } from './side-at.ts';
import type { World } from './world.ts';

/**
 * Takes recorded changes back, through the same steps, locks and journal as any change. It touches nothing that was not
 * recorded; if a file changed since, it refuses with the diff, or merges if asked to.
 */
export async function undo(
  world: World,
  ledger: Ledger,
  selection: UndoSelection,
): Promise<Outcome<UndoResult>> {
  let planned = await plan(world, ledger, selection);
  for (;;) {
    if (!planned.ok) return planned;
    const keys = keysOf(world, planned.plan);
    const release = await lockKeys(world, keys);
    if (release === undefined)
      return refused({ code: 'BUSY', action: 'undo', path: '', next: 'retry_later' });
    try {
      // Once more, now that nobody can change these files: someone may have, or may have taken back the same.
      const again = await plan(world, ledger, selection);
      if (!again.ok) return again;
      if (notLocked(keysOf(world, again.plan), keys).length === 0)
        return await undoLocked(world, ledger, { plan: again.plan, selection, locked: keys });
      planned = again;
    } finally {
      release();
    }
  }
}

async function plan(
  world: World,
  ledger: Ledger,
  selection: UndoSelection,
): Promise<Outcome<{ readonly plan: UndoPlan }>> {
  const target = await targetOf(world, ledger, selection);
  if (!target.ok) return target;
  const entries = await entriesForUndo(world.store, target.target);
  return planUndo(entries, target.target, { merge: selection.merge === true });
}

/** What the steps touch, and the folders that have to be made for them. */
function keysOf(world: World, { steps }: UndoPlan): readonly string[] {
  return steps.flatMap(({ key, from }) => {
    const outcome = world.workspace.locate(key, 'undo', 'parents');
    if (outcome.ok) outcome.located.place.dir.close();
    const folder = outcome.ok ? missingFolder(outcome.located) : undefined;
    return [key, ...(from === undefined ? [] : [from.key]), ...(folder === undefined ? [] : [folder])];
  });
}

async function targetOf(
  world: World,
  ledger: Ledger,
  { change, path, session, sinceMs }: UndoSelection,
): Promise<Outcome<{ target: UndoTarget }>> {
  const file = path === undefined ? undefined : world.workspace.locate(path, 'undo', 'parents');
  if (file !== undefined && !file.ok) return file;
  file?.located.place.dir.close();
  const key = file === undefined ? {} : { key: file.located.place.path.key };
  const root = file?.located.place.path.root ?? world.workspace.roots[0] ?? '';
  if (change !== undefined) {
    const [entry] = await world.store.entries({ change, kinds: ['change'], limit: 1 });
    const known = entry !== undefined && world.workspace.roots.includes(entry.root) ? entry.root : root;
    return { ok: true, target: { kind: 'change', change, root: known, ...key } };
  }
  if (session !== undefined || sinceMs !== undefined) {
    const limits = {
      ...(session === undefined ? {} : { session }),
      ...(sinceMs === undefined ? {} : { sinceMs }),
    };
    return { ok: true, target: { kind: 'all', root, ...limits, ...key } };
  }
  return { ok: true, target: { kind: 'last', session: ledger.session, root, ...key } };
}

async function undoLocked(
  world: World,
  ledger: Ledger,
  { plan, selection, locked }: { plan: UndoPlan; selection: UndoSelection; locked: readonly string[] },
): Promise<Outcome<UndoResult>> {
  const checked: Found[] = [];
  for (const step of plan.steps) {
    const found = await check(world, step, selection);
    if (!found.ok) return found;
    checked.push(found);
  }
  for (const { step } of checked) if (!(await canRestore(world, step))) return refused(notKept(step));
  // After the checks: a step may restore the very bytes that another one has just kept.
  const diffs: string[] = [];
  for (const found of checked) diffs.push(...(await preview(world, found)));
  const steps = checked.map((found) => found.step);
  const files = steps.map((step, index) => fileOf(step, plan.steps[index] !== step));
  const diff = diffs.length === 0 ? {} : { diff: diffs.join('\n') };
  if (selection.preview === true) return { ok: true, undid: plan.undone.changes, files, ...diff };
  const work = steps.map((step) => restoreStep(world, step, pathOf(world, step)));
  const outcome = await carryOut(world, ledger, {
    steps: work,
    locked,
    undo: plan,
  });
  if (!outcome.ok) return outcome;
  return {
    ok: true,
    ...(outcome.change === undefined ? {} : { change: outcome.change }),
    undid: plan.undone.changes,
    files,
    ...diff,
  };
}

/** Names the file for messages; the step itself looks for it again when it runs. */
function pathOf(world: World, step: UndoStep): ResolvedPath {
  return world.workspace.named(step.key, step.relative);
}

/** A step that can be taken, and the bytes that are there now. */
interface Found {
  readonly step: UndoStep;
  readonly snapshot?: Snapshot | undefined;
}

/** Sees that what is there is what the plan expects, and keeps it: a later step may need these very bytes. */
async function check(world: World, step: UndoStep, selection: UndoSelection): Promise<Outcome<Found>> {
  if (step.lookAt === undefined) return { ok: true, step };
  const outcome = world.workspace.locate(step.lookAt, 'undo', 'parents');
  if (!outcome.ok) return outcome;
  try {
    const { side, snapshot } = await sideOfLocated(world, outcome.located);
    if (snapshot !== undefined) await world.images.keepBytes(snapshot.bytes, snapshot.fingerprint, 'none');
    if (sameContent(side, step.expect)) return { ok: true, step, snapshot };
    // Already as it was before: someone took the change back by hand.
    if (sameContent(side, step.restore)) return { ok: true, step: { ...step, expect: side }, snapshot };
    const merged = selection.merge === true ? await merge(world, step, snapshot) : undefined;
    if (merged !== undefined) return { ok: true, step: merged, snapshot };
    return refused(await changedSince(world, { step, side, snapshot }));
  } finally {
    outcome.located.place.dir.close();
  }
}

async function canRestore(world: World, { expect, restore }: UndoStep): Promise<boolean> {
  if (restore.kind !== 'file' || sameContent(expect, restore)) return true;
  return world.images.has(restore.fingerprint.sha256);
}

function notKept({ relative }: UndoStep): Refusal {
  const detail = { reason: 'its earlier bytes are no longer kept' };
  return { code: 'NOT_FOUND', action: 'undo', path: relative, next: 'none', detail };
}

/** What the undo will do to one file, as a bounded diff under its name; nothing for folders and links. */
async function preview(world: World, { step, snapshot }: Found): Promise<string[]> {
  const now = snapshot?.bytes ?? Buffer.alloc(0);
  const then =
    step.restore.kind === 'file' ? await world.images.read(step.restore.fingerprint) : Buffer.alloc(0);
  const { text } = unifiedDiff<Uint8Array>(now, then, { maxLines: world.policy.maxDiffLines });
  return text === '' ? [] : [`${step.relative}\n${text}`];
}

/** What was changed since is carried over: base is what our change left, theirs what is there, ours what was before. */
async function merge(
  world: World,
  step: UndoStep,
  snapshot: Snapshot | undefined,
): Promise<UndoStep | undefined> {
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
  await world.images.keepBytes(bytes, fingerprint, 'none');
  const expect: Side = { ...step.expect, fingerprint: snapshot.fingerprint };
  return { ...step, expect, restore: { ...step.restore, fingerprint, kept: true } };
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

function fileOf(step: UndoStep, merged: boolean): UndoneFile {
  if (merged) return { path: step.relative, did: 'merged' };
  if (step.from !== undefined) return { path: step.relative, did: 'moved-back' };
  if (step.restore.kind === 'absent') return { path: step.relative, did: 'removed' };
  return { path: step.relative, did: step.expect.kind === 'absent' ? 'recreated' : 'restored' };
}
