import { AsyncLocalStorage } from 'node:async_hooks';
import { grantCovers, grantsFor } from '../journal/grants.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Effect, NewEntry } from '../model/entry.ts';
import { isBelow } from '../model/path.ts';
import type { Action, Refusal } from '../model/verdict.ts';
import { matchingGlob } from '../text/glob/glob.ts';
import type { World } from './world.ts';

/** A change that needs the user's approval. */
export interface ApprovalRequest {
  /** Relative to the root. */
  readonly path: string;
  readonly action: Action;
  /** Bounded diff of the change, for text. */
  readonly diff?: string;
}

/** The user's answer. Undefined: no user can be asked here, or the question was not answered. */
export type Approval = 'approved' | 'declined' | undefined;

/** Asks the user. */
export type Approver = (request: ApprovalRequest) => Promise<Approval>;

const asking = new AsyncLocalStorage<Approver>();

/** Runs a call with a function that can ask the user for approval. */
export function runWithApprover<T>(approver: Approver, call: () => T): T {
  return asking.run(approver, call);
}

/** The results approved during one call, by path and exact content. */
export type Approved = Map<string, NewEntry>;

/** If a file changes while the user decides, the user is asked again, at most this often per call. */
const MAX_ASKED = 5;

/** The part of a step that the user approves. */
export interface ApprovedStep {
  readonly action: Action;
  readonly root: string;
  readonly effects: readonly Effect[];
  diff?(): string | undefined;
}

/** A change that waits for approval, and the exact result that would be approved. */
export interface MissingApproval {
  readonly mark: string;
  readonly request: ApprovalRequest;
  readonly entry: NewEntry;
}

/**
 * Returns the first unapproved change of a path under `approve`, or the journal entries of the approvals used. A grant
 * by `lookfirst allow` is an approval.
 */
export async function approvalsOf(
  world: World,
  ledger: Ledger,
  { steps, approved }: { readonly steps: readonly ApprovedStep[]; readonly approved: Approved },
): Promise<{ readonly missing: MissingApproval } | { readonly entries: readonly NewEntry[] }> {
  const entries: NewEntry[] = [];
  const changes = steps
    .flatMap((step) => step.effects.map((effect) => ({ step, effect })))
    .filter(({ effect }) => matchingGlob(world.policy.approve, effect.relative) !== undefined);
  for (const change of changes) {
    // The user approves the file, and with it the folders that are created for it.
    if (changes.some(({ effect }) => isParent(change.effect, effect))) continue;
    const entry = await usedApproval(world, ledger, { ...change, approved });
    if (entry === undefined) return { missing: missingApproval(world, ledger, change) };
    entries.push(entry);
  }
  return { entries };
}

/** True if `made` is a new folder above `effect`. */
function isParent(made: Effect, effect: Effect): boolean {
  return made.before.kind === 'absent' && made.after.kind === 'directory' && isBelow(effect.key, made.key);
}

interface ApprovedChange {
  readonly step: ApprovedStep;
  readonly effect: Effect;
}

/** The journal entry of the approval that a change uses, or undefined if there is none. */
async function usedApproval(
  world: World,
  ledger: Ledger,
  { approved, ...change }: ApprovedChange & { readonly approved: Approved },
): Promise<NewEntry | undefined> {
  const known = approved.get(markOf(change.effect));
  if (known !== undefined) return known;
  const { key } = change.effect;
  const grants = await grantsFor(world.store, [key], ledger.session);
  const grant = grants.find((each) => grantCovers(each, key));
  if (grant === undefined) return undefined;
  const { id } = grant;
  return { ...entryOf(world, ledger, change), text: `approved by the user (${id})`, grant: { id } };
}

function missingApproval(world: World, ledger: Ledger, change: ApprovedChange): MissingApproval {
  const { step, effect } = change;
  const diff = step.diff?.();
  const request = { path: effect.relative, action: step.action, ...(diff === undefined ? {} : { diff }) };
  return { mark: markOf(effect), request, entry: entryOf(world, ledger, change) };
}

/** Asks the user, without holding a lock. An approval holds for this call. */
export async function askUser(
  { mark, request, entry }: MissingApproval,
  approved: Approved,
): Promise<Approval> {
  const answer = approved.size < MAX_ASKED ? await asking.getStore()?.(request) : undefined;
  if (answer === 'approved') approved.set(mark, { ...entry, text: 'approved by the user' });
  return answer;
}

/**
 * The refusal the agent gets. It does not say how to approve: only the journal and the server's output, which users
 * read, do.
 */
export function approvalRefusal({ request: { path, action } }: MissingApproval, answer?: Approval): Refusal {
  const reason = answer === 'declined' ? answer : 'approval';
  return { code: 'PROTECTED', action, path, next: 'ask_human', detail: { reason } };
}

function entryOf(world: World, ledger: Ledger, { step, effect }: ApprovedChange): NewEntry {
  const { action, root } = step;
  const { key, relative } = effect;
  return { kind: 'bypass', atMs: world.now(), ...ledger.author, root, action, path: relative, key };
}

/** Identifies a path together with the exact content it will have. */
function markOf({ key, after }: Effect): string {
  return `${key}\0${after.kind === 'file' ? after.fingerprint.sha256 : after.kind}`;
}
