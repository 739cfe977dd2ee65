import type { Ledger } from '../ledger/ledger.ts';
import type { ApplyResult, ChangeResult } from '../model/results.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import { type Approved, type ApprovedStep, approvalsOf, type MissingApproval } from './approval.ts';
import { carryOut, type Work } from './carry-out.ts';
import type { Telling } from './claims.ts';
import type { Step } from './step.ts';
import type { World } from './world.ts';

/** The notices about other sessions' work for one step. */
interface Told {
  readonly tellings: readonly Telling[];
}

/** The result. `missing`: the user's approval is missing; `busy`: another session has claimed a file. */
type Carried =
  | Outcome<ApplyResult>
  | { readonly missing: MissingApproval }
  | { readonly busy: Refusal }
  | { readonly conflict: Refusal };

/**
 * Runs judged steps if the user has approved them where needed and no other session's claim forbids them. Used
 * approvals and notices about other sessions' work are recorded in the transaction of the change.
 */
export async function carryOutTold(
  world: World,
  ledger: Ledger,
  { approved, ...work }: Work & { readonly approved: Approved },
): Promise<Carried> {
  const approvals = await approvalsOf(world, ledger, { steps: work.steps.map(approvable), approved });
  if ('missing' in approvals) return approvals;
  const told = await claimsOn(world, ledger, work.steps);
  if ('refusal' in told) return { busy: told.refusal };
  const tellings = told.flatMap((each) => each.tellings);
  const entries = [...approvals.entries, ...tellings.map(({ entry }) => entry)];
  const outcome = await carryOut(world, ledger, { ...work, entries });
  if (!outcome.ok) return { conflict: outcome.refusal };
  for (const { confirm } of tellings) confirm();
  return tellings.length === 0 ? outcome : { ...outcome, results: withClaims(outcome.results, told) };
}

/** The part of a step that is shown to the user for approval. */
function approvable(step: Step): ApprovedStep {
  const { action, path, effects } = step;
  return { action, root: path.root, effects, diff: () => step.preview?.().diff };
}

/** The notices about other sessions' work on the files of each step, or the first refusal because of a claim. */
async function claimsOn(
  { claims }: World,
  ledger: Ledger,
  steps: readonly Step[],
): Promise<readonly Told[] | { readonly refusal: Refusal }> {
  const told: Told[] = [];
  if (claims.isQuiet(ledger)) return told;
  for (const { effects, path, action } of steps) {
    const each = await claims.onChange(ledger, effects, { root: path.root, action });
    if ('refusal' in each) return each;
    told.push(each);
  }
  return told;
}

/** Adds to each step's result the notices about its files. */
function withClaims(results: readonly ChangeResult[], told: readonly Told[]): readonly ChangeResult[] {
  return results.map((result, index) => {
    const notices = told[index]?.tellings.map(({ notice }) => notice) ?? [];
    return notices.length === 0 ? result : { ...result, notices: [...result.notices, ...notices] };
  });
}
