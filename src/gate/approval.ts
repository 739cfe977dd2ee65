import { listUnsorted } from '../disk/list.ts';
import { grantsFor } from '../journal/grants.ts';
import type { Approval, ApprovalRequest, ClientCall } from '../model/call.ts';
import { byPath, type Delta, type NamedPath } from '../model/delta.ts';
import type { NewEntry } from '../model/entry.ts';
import { isBelow, isWithin, type Place } from '../model/path.ts';
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

/** The part of a step that the user approves. */
export interface ApprovedStep {
  readonly action: Action;
  readonly root: string;
  readonly deltas: readonly Delta[];
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
    .flatMap((step) =>
      [...byPath(step.deltas), ...movedMembers(world, step)].map((delta) => ({ step, delta })),
    )
    .filter(({ delta }) => needsApproval(world, delta.relative));
  for (const change of changes) {
    // Skip new parent folders: the user approves them together with the file for which they are
    // created.
    if (changes.some(({ delta }) => isParent(change.delta, delta))) continue;
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
function movedMembers(world: World, { deltas }: ApprovedStep): Delta[] {
  const { approve } = world.policy;
  if (approve.length === 0) return [];
  return deltas.flatMap((delta) => {
    const { movedFrom: from, after } = delta;
    if (from === undefined || after.kind !== 'directory') return [];
    const at = { path: from.key, action: 'move', links: 'parents' } as const;
    const members = ({ exists, place }: Located): Delta[] =>
      exists ? membersIn(world, place, { ...delta, movedFrom: from }) : [];
    return world.workspace.atOnce(at, members, () => []);
  });
}

type Moved = Delta & { readonly movedFrom: NamedPath };

/**
 * The entries of a moved folder that match the `approve` globs. A matching folder is not searched,
 * because its approval covers everything in it.
 */
function membersIn(
  world: World,
  { dir: parent, name: folder }: Pick<Place, 'dir' | 'name'>,
  moved: Moved,
): Delta[] {
  const dir = parent.enter(folder);
  try {
    return listUnsorted(dir).flatMap(({ name, kind }) => {
      const member = { ...moved, ...memberOf(moved, name), movedFrom: memberOf(moved.movedFrom, name) };
      const ends = byPath([member]).filter(({ relative }) => needsApproval(world, relative));
      if (ends.length > 0) return ends;
      return kind === 'directory' ? membersIn(world, { dir, name }, member) : [];
    });
  } finally {
    dir.close();
  }
}

function memberOf({ key, relative }: NamedPath, name: string): NamedPath {
  return { key: `${key}/${name}`, relative: relative === '' ? name : `${relative}/${name}` };
}

/** True if `made` is a new folder above `delta`. */
function isParent(made: Delta, delta: Delta): boolean {
  return made.before.kind === 'absent' && made.after.kind === 'directory' && isBelow(delta.key, made.key);
}

interface ApprovedChange {
  readonly step: ApprovedStep;
  readonly delta: Delta;
}

/** The journal entry of the approval that a change uses, or undefined if there is none. */
async function usedApproval(
  world: World,
  knowledge: Knowledge,
  { approved, ...change }: ApprovedChange & { readonly approved: Approved },
): Promise<NewEntry | undefined> {
  const known = approved.get(markOf(change.delta));
  if (known !== undefined) return known;
  const { key } = change.delta;
  const grants = await grantsFor(world.store, [key], knowledge.session);
  const grant = grants.find((each) => isWithin(key, each.key));
  if (grant === undefined) return undefined;
  const { id } = grant;
  return { ...entryOf(world, knowledge, change), text: `approved by the user (${id})`, grant: { id } };
}

function missingApproval(
  world: World,
  knowledge: Knowledge,
  { change, changes }: { readonly change: ApprovedChange; readonly changes: readonly ApprovedChange[] },
): MissingApproval {
  const from = change.delta.movedFrom?.key;
  const source = changes.find((each) => each.delta.key === from) ?? change;
  const moved = changes.find((each) => each.delta.movedFrom?.key === source.delta.key);
  const { step, delta } = source;
  const diff = step.diff?.();
  const results = [source, ...(moved === undefined ? [] : [moved])].map((each) => ({
    mark: markOf(each.delta),
    entry: entryOf(world, knowledge, each),
  }));
  const request = {
    path: delta.relative,
    ...(moved && { to: moved.delta.relative }),
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

function entryOf(
  world: World,
  knowledge: Knowledge,
  { step, delta }: ApprovedChange,
): Extract<NewEntry, { readonly kind: 'bypass' }> {
  const { action, root } = step;
  const { key, relative } = delta;
  return { kind: 'bypass', atMs: world.now(), ...knowledge.author, root, action, path: relative, key };
}

/** Identifies a path together with the exact content it will have. */
function markOf({ key, after }: Delta): string {
  return `${key}\0${after.kind === 'file' ? after.fingerprint.sha256 : after.kind}`;
}
