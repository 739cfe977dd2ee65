import { listUnsorted } from '../disk/list.ts';
import { grantCovers, grantsFor } from '../journal/grants.ts';
import type { Approval, ApprovalRequest, ClientCall } from '../model/call.ts';
import type { Effect, NewEntry } from '../model/entry.ts';
import { isBelow, type Place } from '../model/path.ts';
import type { Action, Refusal } from '../model/verdict.ts';
import { matchingGlob } from '../text/glob/glob.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Located } from '../workspace/workspace.ts';
import type { World } from './world.ts';

/**
 * The journal entries of the approvals given during one call. The key identifies a path with its
 * exact new content.
 */
export type Approved = Map<string, NewEntry>;

/**
 * Lookfirst asks the user at most this often per call and path. It repeats the question if the file
 * changes while the user decides. After the last question, the change is refused.
 */
const MAX_ASKED = 5;

/** The part of an effect that the user approves: a path with its new content. */
type ApprovedEffect = Pick<Effect, 'key' | 'relative' | 'before' | 'after' | 'movedTo'>;

/** The part of a step that the user approves. */
export interface ApprovedStep {
  readonly action: Action;
  readonly root: string;
  readonly effects: readonly ApprovedEffect[];
  diff?(): string | undefined;
}

/**
 * A change that waits for approval, and the exact results that the user would approve. A move has
 * two results: its old and its new path.
 */
export interface MissingApproval {
  readonly request: ApprovalRequest;
  readonly results: readonly ApprovedResult[];
}

interface ApprovedResult {
  readonly mark: string;
  readonly entry: NewEntry;
}

/**
 * Returns the first change that lacks the user's approval, or the journal entries of the approvals
 * used. Only paths that match the policy's `approve` globs need approval. A grant by `lookfirst
 * allow` is an approval.
 */
export async function approvalsOf(
  world: World,
  knowledge: Knowledge,
  { steps, approved }: { readonly steps: readonly ApprovedStep[]; readonly approved: Approved },
): Promise<{ readonly missing: MissingApproval } | { readonly entries: readonly NewEntry[] }> {
  const entries: NewEntry[] = [];
  const changes = steps
    .flatMap((step) => [...step.effects, ...movedMembers(world, step)].map((effect) => ({ step, effect })))
    .filter(({ effect }) => needsApproval(world, effect.relative));
  for (const change of changes) {
    // Skip new parent folders: the user approves them together with the file for which they are
    // created.
    if (changes.some(({ effect }) => isParent(change.effect, effect))) continue;
    const entry = await usedApproval(world, knowledge, { ...change, approved });
    if (entry === undefined) return { missing: missingApproval(world, knowledge, { change, changes }) };
    entries.push(entry);
  }
  return { entries };
}

/** True if an `approve` glob matches the path, or matches a folder that contains the path. */
export function needsApproval({ policy: { approve } }: Pick<World, 'policy'>, relative: string): boolean {
  if (matchingGlob(approve, relative) !== undefined) return true;
  // Compare negated globs only with the path itself, not with the folders above it: a negated glob
  // matches nearly every folder.
  const plain = approve.filter((glob) => !glob.startsWith('!'));
  for (let end = relative.lastIndexOf('/'); end > 0; end = relative.lastIndexOf('/', end - 1))
    if (matchingGlob(plain, relative.slice(0, end)) !== undefined) return true;
  return false;
}

/** For each moved folder: the paths inside it, old and new ones, that match the `approve` globs. */
function movedMembers(world: World, { effects }: ApprovedStep): ApprovedEffect[] {
  const { approve } = world.policy;
  if (approve.length === 0) return [];
  return effects.flatMap((effect) => {
    const to = effects.find(({ key }) => key === effect.movedTo);
    if (to === undefined || effect.before.kind !== 'directory') return [];
    const at = { path: effect.key, action: 'move', links: 'parents' } as const;
    const members = ({ exists, place }: Located): ApprovedEffect[] =>
      exists ? membersIn(world, place, { from: effect, to }) : [];
    return world.workspace.atOnce(at, members, () => []);
  });
}

interface MovedFolder {
  readonly from: ApprovedEffect;
  readonly to: ApprovedEffect;
}

/**
 * The entries of a moved folder that match the `approve` globs. A matching folder is not searched,
 * because its approval covers everything in it.
 */
function membersIn(
  world: World,
  { dir: parent, name: folder }: Pick<Place, 'dir' | 'name'>,
  { from, to }: MovedFolder,
): ApprovedEffect[] {
  const dir = parent.enter(folder);
  try {
    return listUnsorted(dir).flatMap(({ name, kind }) => {
      const member = { from: memberOf(from, name), to: memberOf(to, name) };
      const ends = [{ ...member.from, movedTo: member.to.key }, member.to].filter(({ relative }) =>
        needsApproval(world, relative),
      );
      if (ends.length > 0) return ends;
      return kind === 'directory' ? membersIn(world, { dir, name }, member) : [];
    });
  } finally {
    dir.close();
  }
}

function memberOf({ key, relative, before, after }: ApprovedEffect, name: string): ApprovedEffect {
  return { key: `${key}/${name}`, relative: relative === '' ? name : `${relative}/${name}`, before, after };
}

/** True if `made` is a new folder above `effect`. */
function isParent(made: ApprovedEffect, effect: ApprovedEffect): boolean {
  return made.before.kind === 'absent' && made.after.kind === 'directory' && isBelow(effect.key, made.key);
}

interface ApprovedChange {
  readonly step: ApprovedStep;
  readonly effect: ApprovedEffect;
}

/** The journal entry of the approval that a change uses, or undefined if there is none. */
async function usedApproval(
  world: World,
  knowledge: Knowledge,
  { approved, ...change }: ApprovedChange & { readonly approved: Approved },
): Promise<NewEntry | undefined> {
  const known = approved.get(markOf(change.effect));
  if (known !== undefined) return known;
  const { key } = change.effect;
  const grants = await grantsFor(world.store, [key], knowledge.session);
  const grant = grants.find((each) => grantCovers(each, key));
  if (grant === undefined) return undefined;
  const { id } = grant;
  return { ...entryOf(world, knowledge, change), text: `approved by the user (${id})`, grant: { id } };
}

function missingApproval(
  world: World,
  knowledge: Knowledge,
  { change, changes }: { readonly change: ApprovedChange; readonly changes: readonly ApprovedChange[] },
): MissingApproval {
  const source = changes.find((each) => each.effect.movedTo === change.effect.key) ?? change;
  const moved = changes.find((each) => each.effect.key === source.effect.movedTo);
  const { step, effect } = source;
  const diff = step.diff?.();
  const results = [source, ...(moved === undefined ? [] : [moved])].map((each) => ({
    mark: markOf(each.effect),
    entry: entryOf(world, knowledge, each),
  }));
  const request = {
    path: effect.relative,
    ...(moved && { to: moved.effect.relative }),
    action: step.action,
    mark: results.map(({ mark }) => mark).join('\0'),
    ...(diff === undefined ? {} : { diff }),
  };
  return { request, results };
}

/**
 * Asks the user. The caller must hold no lock, because the answer may take minutes. An approval is
 * added to `approved` and is valid only for the current call.
 */
export async function askUser(
  { request, results }: MissingApproval,
  approved: Approved,
  call: ClientCall | undefined,
): Promise<Approval> {
  const asked = [...approved.values()].filter(({ key }) => key === results[0]?.entry.key).length;
  const answer = asked < MAX_ASKED ? await call?.approve?.(request) : undefined;
  if (answer === 'approved')
    for (const { mark, entry } of results) approved.set(mark, { ...entry, text: 'approved by the user' });
  return answer;
}

/** The refusal that the agent gets. It names the command with which the user approves the change. */
export function approvalRefusal({ request: { path, action } }: MissingApproval, answer?: Approval): Refusal {
  const cause = answer === 'declined' ? answer : 'approval';
  return { code: 'PROTECTED', action, path, next: 'ask_human', detail: { cause } };
}

function entryOf(world: World, knowledge: Knowledge, { step, effect }: ApprovedChange): NewEntry {
  const { action, root } = step;
  const { key, relative } = effect;
  return { kind: 'bypass', atMs: world.now(), ...knowledge.author, root, action, path: relative, key };
}

/** Identifies a path together with the exact content it will have. */
function markOf({ key, after }: ApprovedEffect): string {
  return `${key}\0${after.kind === 'file' ? after.fingerprint.sha256 : after.kind}`;
}
