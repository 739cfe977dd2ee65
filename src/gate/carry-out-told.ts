import type { Ledger } from '../ledger/ledger.ts';
import type { ApplyResult, ChangeResult } from '../model/results.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import { type Approved, type ApprovedStep, approvalsOf, type MissingApproval } from './approval.ts';
import { carryOut, type Work } from './carry-out.ts';
import type { Telling } from './claims.ts';
import type { Step } from './step.ts';
import type { World } from './world.ts';

/** What one step's caller is told about other sessions' work. */
interface Told {
  readonly tellings: readonly Telling[];
}

/** What it came to. `missing`: the user's approval; `busy`: another session has claimed a file. */
type Carried =
  | Outcome<ApplyResult>
  | { readonly missing: MissingApproval }
  | { readonly busy: Refusal }
  | { readonly conflict: Refusal };

/**
 * Does judged steps if the user has approved what needs it and no other session stands in the way. Approvals that are used, and
 * what is told about other sessions' work on the files, go into the transaction of the change.
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

/** A step as the user is asked about it. */
function approvable(step: Step): ApprovedStep {
  const { action, path, effects } = step;
  return { action, root: path.root, effects, diff: () => step.preview?.().diff };
}

/** What to tell about other sessions' work on the files of each step, or the refusal of the first that may not go on. */
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

/** The results of steps, each with what is told about its files. */
function withClaims(results: readonly ChangeResult[], told: readonly Told[]): readonly ChangeResult[] {
  return results.map((result, index) => {
    const notices = told[index]?.tellings.map(({ notice }) => notice) ?? [];
    return notices.length === 0 ? result : { ...result, notices: [...result.notices, ...notices] };
  });
}
