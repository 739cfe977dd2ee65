import { randomBytes } from 'node:crypto';
import type { Conflict } from '../disk/replace.ts';
import { joinWrites } from '../ledger/join-writes.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { NewEntry, PendingChange, Undone } from '../model/entry.ts';
import { Fault } from '../model/fault.ts';
import type { ApplyResult, ChangeResult, Notice } from '../model/results.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import type { Writes } from '../store/store.ts';
import { keepImages } from './keep-images.ts';
import type { Done, Step } from './step.ts';
import type { World } from './world.ts';

export interface Work {
  readonly steps: readonly Step[];
  /** Keys that are locked meanwhile. */
  readonly locked: readonly string[];
  readonly action?: 'undo';
  /** What an undo takes back. */
  readonly undone?: Undone;
}

/**
 * Does prepared steps: announced first, so that a later start knows of a change whose process died; then the disk;
 * then images, sightings and the journal's entry in one transaction. If anything fails, what was done is taken back.
 */
export async function carryOut(world: World, ledger: Ledger, work: Work): Promise<Outcome<ApplyResult>> {
  const change = newChangeId();
  const effects = work.steps.flatMap((step) => step.effects);
  if (effects.length === 0) return unchanged(ledger, work);
  const entry = entryOf(world, ledger, work, change);
  const recorded = await announce(world, { change, entry, owner: world.owner, locked: work.locked });
  const done: { readonly step: Step; readonly outcome: Done }[] = [];
  try {
    for (const step of work.steps) {
      const outcome = await step.run();
      if (!outcome.ok) {
        await takeBack(world, done, recorded ? change : undefined);
        return { ok: false, refusal: conflictRefusal(step, outcome) };
      }
      done.push({ step, outcome });
    }
    const outcomes = done.map((item) => item.outcome);
    await keepImages(
      world,
      outcomes.flatMap((outcome) => outcome.displaced),
    );
    await settle(world, ledger, { outcomes, entry, change: recorded ? change : undefined });
    return {
      ok: true,
      change,
      dryRun: false,
      results: outcomes.map((outcome) => resultOf(outcome, change, recorded)),
    };
  } catch (error) {
    await takeBack(world, done, recorded ? change : undefined);
    throw error;
  }
}

/** Short enough to type after `lookfirst undo`. */
export function newChangeId(): string {
  return `c${randomBytes(5).toString('hex')}`;
}

function entryOf(world: World, ledger: Ledger, work: Work, change: string): NewEntry {
  const [first] = work.steps;
  const effects = work.steps.flatMap((step) => step.effects);
  return {
    kind: 'change',
    atMs: world.now(),
    session: ledger.session,
    root: first?.path.root ?? '',
    ...(first === undefined ? {} : { action: work.action ?? first.action, path: first.path.relative }),
    change,
    effects,
    ...(work.undone === undefined ? {} : undoneFields(work.undone)),
  };
}

function undoneFields(undone: Undone): Pick<NewEntry, 'undoes' | 'undone'> {
  const [newest] = undone.changes;
  return { undone, ...(newest === undefined ? {} : { undoes: newest }) };
}

/** False if the journal could not be written and the policy lets changes go on without it. */
async function announce(world: World, pending: PendingChange): Promise<boolean> {
  try {
    await world.store.record({ announce: pending });
    return true;
  } catch (error) {
    if (world.policy.auditFailure === 'refuse' || !(error instanceof Fault)) throw error;
    return false;
  }
}

async function settle(
  world: World,
  ledger: Ledger,
  { outcomes, entry, change }: { outcomes: readonly Done[]; entry: NewEntry; change: string | undefined },
): Promise<void> {
  const tombstones = outcomes.flatMap((outcome) => outcome.tombstones);
  const atMs = world.now();
  const gone = tombstones.map((key) => ledger.tombstoneWrites(key, atMs));
  const journal: Writes = change === undefined ? {} : { entries: [entry], settle: [change] };
  const alongside = joinWrites(journal, ...gone);
  await ledger.record(
    outcomes.flatMap((outcome) => outcome.sightings),
    alongside,
  );
}

async function takeBack(
  world: World,
  done: readonly { readonly step: Step }[],
  change: string | undefined,
): Promise<void> {
  for (const { step } of done.toReversed()) await step.revert();
  if (change !== undefined) await world.store.record({ settle: [change] });
}

/** Nothing to write: what was asked for is there already. */
async function unchanged(ledger: Ledger, work: Work): Promise<Outcome<ApplyResult>> {
  const results: ChangeResult[] = [];
  for (const step of work.steps) {
    const outcome = await step.run();
    if (!outcome.ok) return { ok: false, refusal: conflictRefusal(step, outcome) };
    await ledger.record(outcome.sightings);
    results.push(outcome.result);
  }
  return { ok: true, dryRun: false, results };
}

function resultOf(outcome: Done, change: string, recorded: boolean): ChangeResult {
  const notices: readonly Notice[] = recorded
    ? outcome.result.notices
    : [...outcome.result.notices, { kind: 'not-recorded' }];
  return { ...outcome.result, ...(outcome.result.changed ? { change } : {}), notices };
}

/** Someone was faster between the last look and the change; nothing of ours was done. */
function conflictRefusal(step: Step, conflict: Conflict): Refusal {
  const base = { action: step.action, path: step.path.given };
  switch (conflict.reason) {
    case 'changed':
      return {
        ...base,
        code: 'STALE',
        next: 'read_again',
        detail: { reason: 'it changed while it was being written' },
      };
    case 'missing':
      return {
        ...base,
        code: 'DELETED',
        next: 'read_again',
        detail: { reason: 'it was deleted while it was being written' },
      };
    case 'exists':
      return {
        ...base,
        code: 'ALREADY_EXISTS',
        next: 'read',
        detail: { reason: 'someone created it in this moment' },
      };
    case 'kind':
      return {
        ...base,
        code: 'NOT_A_FILE',
        next: 'other_path',
        ...(conflict.kind === undefined ? {} : { detail: { kind: conflict.kind } }),
      };
    case 'read-only':
      return { ...base, code: 'READ_ONLY', next: 'ask_human' };
    case 'denied':
      return {
        ...base,
        code: 'UNVERIFIABLE',
        next: 'ask_human',
        ...(conflict.errno === undefined ? {} : { detail: { errno: conflict.errno } }),
      };
    default:
      return conflict.reason satisfies never;
  }
}
