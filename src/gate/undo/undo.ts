import type { UndoPlan, UndoPlans } from '../../journal/undo-plan.ts';
import { asOf, type Ledger } from '../../ledger/ledger.ts';
import { notLocked, outermostKeys } from '../../lock/locks.ts';
import { microseconds, sameSide } from '../../model/entry.ts';
import type { ChangeResult, UndoneFile, UndoResult } from '../../model/results.ts';
import type { UndoSelection } from '../../model/session.ts';
import { type Outcome, type Refusal, refused } from '../../model/verdict.ts';
import { carryOut } from '../carry-out.ts';
import { lockKeys, missingFolder } from '../keys.ts';
import { keepBytesOf } from '../old-bytes.ts';
import { areIndependent, type RestorePlace, restoreSteps } from '../restore-many.ts';
import { type Step, worldFor } from '../step.ts';
import type { World } from '../world.ts';
import { checkSteps, SeenBefore } from './check.ts';
import { type FoundChange, foldersInUse, isFolderToGo, presentBytes, previewDiff } from './found-changes.ts';
import { whyNotTheirs } from './others-change.ts';
import { plan, type UndoRequest } from './plan.ts';

/**
 * Undoes recorded changes, through the same steps, locks and journal as any change. If a file
 * changed since, refuses with the diff, or merges if the request says so.
 */
export async function undo(
  world: World,
  ledger: Ledger,
  selection: UndoRequest,
): Promise<Outcome<UndoResult>> {
  let journal = await journalEnd(world);
  let planned = await plan(world, ledger, selection);
  for (;;) {
    if (!planned.ok) return planned;
    const keys = keysOf(world, planned);
    const release = await lockKeys(world, keys, ledger);
    if (release === undefined)
      return refused({ code: 'BUSY', action: 'undo', path: '', next: 'retry_later' });
    const fetched = ledger.earlier.prefetch();
    try {
      // Plan again under the locks if the journal has grown: another process may have undone the same change.
      const end = await journalEnd(world);
      const isCurrent = end !== undefined && end === journal;
      const again = isCurrent ? planned : await plan(world, ledger, selection);
      if (!again.ok) return again;
      if (notLocked(keysOf(world, again), keys).length === 0)
        return await asOf(ledger, selection.times, () =>
          undoLocked(world, ledger, { plans: again, selection, locked: keys }),
        );
      planned = again;
      journal = end;
    } finally {
      fetched();
      release();
    }
  }
}

/**
 * The number of the journal's last entry. As long as this number stays the same, a plan made from
 * the journal is valid. Undefined for stores whose entries can appear out of order.
 */
async function journalEnd({ store }: World): Promise<number | undefined> {
  return store.snapshot === undefined ? (await store.state()).head.seq : undefined;
}

/** The keys that the steps touch, and the missing folders that they need. */
function keysOf(world: World, { plan, instead }: UndoPlans): readonly string[] {
  const steps = [...plan.steps, ...(instead?.steps ?? [])];
  const touched = new Set(steps.map(({ key }) => key));
  const keys = steps.flatMap(({ key, from }) => {
    // Skip a key whose parent folder has its own step: the lock of the folder covers the key.
    if (from === undefined && touched.has(key.slice(0, key.lastIndexOf('/')))) return [];
    const outcome = world.workspace.locate(key, 'undo', 'parents');
    if (outcome.ok) outcome.located.place.dir.close();
    const folder = outcome.ok ? missingFolder(outcome.located) : undefined;
    return [key, ...(from === undefined ? [] : [from.key]), ...(folder === undefined ? [] : [folder])];
  });
  return outermostKeys(keys);
}

async function undoLocked(
  world: World,
  ledger: Ledger,
  { plans, selection, locked }: { plans: UndoPlans; selection: UndoRequest; locked: readonly string[] },
): Promise<Outcome<UndoResult>> {
  const unseen = await whyNotTheirs(world, ledger, { plans, selection });
  if (unseen !== undefined) return refused(unseen);
  const checked = await checkPlans(world, plans, selection);
  if (!checked.ok) return checked;
  const { plan, found } = checked;
  const diff = await previewDiff(world, found);
  const told = { undid: plan.undone.changes, ...(diff === '' ? {} : { diff }) };
  const filesWith = (kept: ReadonlySet<string>): UndoneFile[] =>
    found.map((each) => fileOf(world, each, kept));
  if (selection.preview === true) {
    // Refuse if the undo would put a file or link in the place of a folder in which other entries
    // stay.
    const kept = foldersInUse(world, plan.steps);
    const taken = found.find(({ step }) => kept.has(step.key) && step.restore.kind !== 'absent');
    if (taken !== undefined) return refused(inUse(world.workspace.shownAt(taken.step)));
    return { ok: true, ...told, files: filesWith(kept) };
  }
  await keepNeeded(world, found);
  const several = await worldFor(world, found.length, areIndependent(found) ? 'together' : 'in order');
  selection.signal?.throwIfAborted();
  const steps = await stepsFor(several, ledger, found);
  const outcome = await carryOut(several, ledger, {
    steps,
    locked,
    undo: selection.rewind === undefined ? plan : { ...plan, rewindTo: selection.rewind.turn },
  });
  for (const step of steps) step.close();
  if (!outcome.ok) return outcome;
  const { change, results } = outcome;
  const kept = keptOf(found, results);
  if (change === undefined && kept.size > 0) {
    const folder = found.find(({ step }) => kept.has(step.key));
    return refused(inUse(folder === undefined ? '' : world.workspace.shownAt(folder.step)));
  }
  return { ok: true, ...(change === undefined ? {} : { change }), ...told, files: filesWith(kept) };
}

/**
 * The first plan that fits the present files. Only the last plan may merge: `plan`, or `instead` if
 * there are two.
 */
async function checkPlans(
  world: World,
  { plan, instead }: UndoPlans,
  selection: UndoSelection,
): Promise<Outcome<{ readonly plan: UndoPlan; readonly found: readonly FoundChange[] }>> {
  if (instead !== undefined) {
    const checked = await checkSteps(world, plan.steps, { ...selection, merge: false });
    if (checked.ok) return { ...checked, plan };
  }
  const last = instead ?? plan;
  const checked = await checkSteps(world, last.steps, selection);
  return checked.ok ? { ...checked, plan: last } : checked;
}

/**
 * Stores present bytes that a step restores at another path, because an earlier step may remove the
 * file that holds them.
 */
async function keepNeeded(world: World, found: readonly FoundChange[]): Promise<void> {
  const present = presentBytes(found);
  for (const { step } of found) {
    if (step.restore.kind !== 'file' || sameSide(step.expect, step.restore)) continue;
    const { fingerprint } = step.restore;
    const bytes = present.get(fingerprint.sha256);
    if (bytes !== undefined) await keepBytesOf(world, step.relative, { bytes, fingerprint }, 'none');
  }
}

export async function stepsFor(
  world: World,
  ledger: Ledger,
  found: readonly FoundChange[],
): Promise<readonly Step[]> {
  const seen = new SeenBefore(
    ledger,
    found.map(({ step }) => step),
  );
  const items: RestorePlace[] = [];
  for (const { step, stamp, mode } of found) {
    // The path is for messages. The step locates its place again when it runs.
    const path = world.workspace.named(step.key, step.relative);
    const sinceUs = stamp && microseconds(stamp.ctimeNs);
    const before = seen.of(step);
    const { known, moving } = before instanceof Promise ? await before : before;
    const context = { path, known, stamp, sinceUs, ...(moving === undefined ? {} : { moving }) };
    items.push({ step, context, stamp, mode });
  }
  return restoreSteps(world, items);
}

/** Keys of folders that should be removed but stayed. */
function keptOf(found: readonly FoundChange[], results: readonly ChangeResult[]): ReadonlySet<string> {
  const unchanged = new Set(results.filter(({ changed }) => !changed).map(({ path }) => path));
  const stayed = found.filter(({ step }) => isFolderToGo(step) && unchanged.has(step.relative));
  return new Set(stayed.map(({ step }) => step.key));
}

function inUse(path: string): Refusal {
  const detail = { reason: 'another program or session has put something into it since that change' };
  return { code: 'STALE', action: 'undo', path, next: 'list', detail };
}

function fileOf(world: World, { step, merged }: FoundChange, kept: ReadonlySet<string>): UndoneFile {
  const path = world.workspace.shownAt(step);
  if (kept.has(step.key)) return { path, did: 'kept' };
  if (merged !== undefined) return { path, did: 'merged' };
  if (step.from !== undefined) return { path, did: 'moved-back' };
  if (step.restore.kind === 'absent') return { path, did: 'removed' };
  return { path, did: step.expect.kind === 'absent' ? 'recreated' : 'restored' };
}
