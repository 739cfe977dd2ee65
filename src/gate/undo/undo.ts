import { notLocked, outermostKeys } from '../../lock/locks.ts';
import { type NamedPath, type State, sameState } from '../../model/delta.ts';
import { LIMITS } from '../../model/limits.ts';
import type { UndoneFile, UndoResult } from '../../model/results.ts';
import { type Outcome, passOn, type Refusal, reasonOf, refused } from '../../model/verdict.ts';
import { isGitIndex } from '../../process/git-index.ts';
import { byteSize } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { apartFromGit, GITS_OWN_FILES } from '../../report/git-files.ts';
import { hasNoLines } from '../../text/decode.ts';
import { maskedDiff } from '../../text/unified.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import { apply, worldFor } from '../apply.ts';
import { existsAt } from '../found.ts';
import { lockKeys, missingFolder } from '../keys.ts';
import { diffOptions } from '../masking.ts';
import { keepBytesOf } from '../old-bytes.ts';
import type { PlannedDelta } from '../plan.ts';
import type { World } from '../world.ts';
import {
  blockedPaths,
  type ChosenChanges,
  choose,
  leaveBlocked,
  type UndoRequest,
  withAll,
} from './choice.ts';
import { whyNotTheirs } from './others-change.ts';
import { planUndo, type UndoPlan } from './plan.ts';
import { type Blocked, type BlockedPath, folderInUse, type UndoOutcome } from './refusals.ts';
import { changePlanOf } from './seen.ts';

/**
 * Undoes recorded changes, through the same steps, locks and journal as any change. If a file
 * changed since, refuses with the diff, or merges if the request says so. All paths are restored or
 * none, unless the request is for a partial undo. A refusal names every path that cannot be
 * restored.
 */
export async function undo(
  world: World,
  knowledge: Knowledge,
  selection: UndoRequest,
): Promise<Outcome<UndoResult>> {
  const { blocked, ...outcome } = await undoAll(world, knowledge, selection);
  if (outcome.ok || blocked.length === 0 || selection.partial === true) return outcome;
  const rest = await undoAll(world, knowledge, { ...selection, partial: true, preview: true });
  const all = rest.blocked.length < 2 && !rest.ok ? outcome.refusal : withAll(outcome.refusal, rest.blocked);
  if (!rest.ok) return refused(all);
  return refused(passOn(all, { restorable: rest.files.length }));
}

/** The result of an undo, and the paths that it left because it is a partial one. */
type Undoing = UndoOutcome<UndoResult & { readonly blocked: readonly BlockedPath[] }>;

async function undoAll(world: World, session: Knowledge, selection: UndoRequest): Promise<Undoing> {
  const knowledge = session.during(selection.times);
  const left = new Map<string, Refusal>();
  for (;;) {
    const first = await choose(world, knowledge, { selection, left });
    if (!first.ok) return first;
    const made = reachWorktrees(world, first.chosen);
    try {
      const locked = keysOf(world, first.chosen);
      const release = await lockKeys(world, locked, { knowledge });
      if (release === undefined)
        return unblocked({ code: 'BUSY', action: 'undo', path: '', next: 'retry_later' });
      try {
        // Choose again under the locks if the journal has grown: another process may have undone the same change.
        const again = (await hasGrown(world, first.chosen))
          ? await choose(world, knowledge, { selection, left })
          : first;
        if (!again.ok) return again;
        const { chosen } = again;
        if (notLocked(keysOf(world, chosen), locked).length === 0)
          return await undoLocked(world, knowledge, { chosen, selection, left, locked });
      } finally {
        release();
      }
    } finally {
      // A folder stays if the undo has put files into it.
      for (const folder of made) world.workspace.abandon(folder);
    }
  }
}

/**
 * Lets an undo reach the other worktrees in which a command has changed or removed files. Makes the
 * folder of a worktree that is gone, and returns the folders made.
 */
function reachWorktrees({ workspace }: World, { inverses }: ChosenChanges): readonly string[] {
  const tops = inverses.flatMap(({ key, relative }) => {
    const { root } = workspace.pathOf(key) ?? {};
    const isInside = root !== undefined && workspace.roots.includes(root);
    return isInside || !key.endsWith(`/${relative}`) ? [] : [key.slice(0, -relative.length - 1)];
  });
  return [...new Set(tops)].filter((top) => workspace.adopt(top, 'make') === 'made');
}

/** True if a change was recorded since. In a store whose entries can appear out of order, that is never certain. */
async function hasGrown({ store }: World, { history }: ChosenChanges): Promise<boolean> {
  if (store.snapshot !== undefined) return true;
  const afterSeq = history.changes.at(-1)?.seq ?? 0;
  return (await store.entries({ kinds: ['change'], afterSeq, limit: 1 })).length > 0;
}

/** A refusal that concerns the whole undo, not some of its paths. */
function unblocked(refusal: Refusal): Blocked {
  return { ...refused(refusal), blocked: [] };
}

/** The keys that the undo may touch, and the missing folders that it needs. */
function keysOf({ workspace }: World, { inverses, course }: ChosenChanges): readonly string[] {
  const touched = new Set(
    [...inverses, ...(course?.inverses ?? [])].flatMap(({ key, oldKey, movedFrom }) =>
      movedFrom === undefined ? [key, oldKey] : [key, oldKey, movedFrom.key],
    ),
  );
  const keys = [...touched].flatMap((key) => {
    // Skip a key whose parent folder is locked too: the lock of the folder covers the key.
    if (touched.has(key.slice(0, key.lastIndexOf('/')))) return [];
    const resolved = workspace.resolve(key, 'undo', 'parents');
    const folder = resolved.ok ? missingFolder(resolved) : undefined;
    return folder === undefined ? [key] : [key, folder];
  });
  return outermostKeys(keys);
}

interface LockedUndo {
  readonly chosen: ChosenChanges;
  readonly selection: UndoRequest;
  readonly left: Map<string, Refusal>;
  readonly locked: readonly string[];
}

async function undoLocked(world: World, knowledge: Knowledge, given: LockedUndo): Promise<Undoing> {
  const { chosen, selection, left, locked } = given;
  const busy = gitAtWork(world, chosen);
  if (busy !== undefined) return unblocked(busy);
  const unseen = await whyNotTheirs(world, knowledge, given);
  if (unseen !== undefined) return unblocked(unseen);
  const planned = await fittingPlan(world, knowledge, given);
  if (!planned.ok) return planned;
  const { plan } = planned;
  const { deltas, stay } = plan;
  const diff = await previewDiff(world, plan);
  const told = {
    undid: plan.undone.changes,
    ...(diff === '' ? {} : { diff }),
    ...(left.size === 0 ? {} : { left: [...left.values()].map(leftFile) }),
    blocked: blockedPaths(left),
  };
  const filesWith = (stayed: ReadonlySet<string>): UndoneFile[] => [
    ...deltas.map((each) => fileOf(world, each, stayed)),
    ...stay.map((each) => ({ path: world.workspace.shownAt(each), did: 'kept' as const })),
  ];
  if (selection.preview === true) return { ok: true, ...told, files: filesWith(new Set()) };
  await keepNeeded(world, plan);
  const several = await worldFor(world, deltas.length, mayBeTogether(deltas) ? 'together' : 'in order');
  selection.signal?.throwIfAborted();
  const outcome = await apply(several, knowledge, {
    plans: deltas.length === 0 ? [] : [await changePlanOf(several, knowledge, deltas)],
    locked,
    undo: selection.rewind === undefined ? plan : { ...plan, rewindTo: selection.rewind.turn },
  });
  if (!outcome.ok) return { ...outcome, blocked: [] };
  const { change, stayed } = outcome;
  const inUse = deltas.find(({ key }) => stayed.has(key)) ?? stay[0];
  if (change === undefined && inUse !== undefined) return unblocked(folderInUse(world, inUse));
  return { ok: true, ...(change === undefined ? {} : { change }), ...told, files: filesWith(stayed) };
}

/** The refusal of an undo that would replace an index on which git is at work; undefined if there is none. */
function gitAtWork(world: World, { inverses }: ChosenChanges): Refusal | undefined {
  const lock = inverses
    .filter(({ key }) => isGitIndex(key))
    .map(({ key, relative }) => ({ key: `${key}.lock`, relative: `${relative}.lock` }))
    .find(({ key }) => existsAt(world, key));
  if (lock === undefined) return undefined;
  const path = world.workspace.shownAt(lock);
  const reason = 'git is at work there, or has left its lock';
  return { code: 'BUSY', action: 'undo', path, next: 'retry_later', detail: { reason } };
}

function leftFile(refusal: Refusal): NonNullable<UndoResult['left']>[number] {
  const { path, code } = refusal;
  return { path, code, reason: reasonOf(refusal) ?? code };
}

/**
 * The plan that fits the present files. A partial undo leaves out the paths that do not fit, until
 * the rest does.
 */
async function fittingPlan(
  world: World,
  knowledge: Knowledge,
  { chosen: first, selection, left }: LockedUndo,
): Promise<UndoOutcome<{ readonly plan: UndoPlan }>> {
  for (let chosen = first; ; ) {
    const planned = await planUndo(world, chosen, { ...selection, undoer: knowledge.session });
    if (planned.ok || leaveBlocked(planned, { selection, left }) === 'same') return planned;
    const rest = await choose(world, knowledge, { selection, left });
    if (!rest.ok) return rest;
    chosen = rest.chosen;
  }
}

/**
 * Stores present bytes that a delta restores at another path, because an earlier delta may remove
 * the file that holds them.
 */
async function keepNeeded(world: World, { deltas, bytes: present }: UndoPlan): Promise<void> {
  for (const { relative, before, after } of deltas) {
    if (after.kind !== 'file' || sameState(before, after)) continue;
    const { fingerprint } = after;
    const bytes = present.get(fingerprint.sha256);
    if (bytes !== undefined) await keepBytesOf(world, relative, { bytes, fingerprint });
  }
}

/** True if no delta needs an earlier one: no folder moves, and each path has one delta. */
function mayBeTogether(deltas: readonly PlannedDelta[]): boolean {
  const keys = new Set<string>();
  for (const { key, after, movedFrom } of deltas) {
    if (movedFrom !== undefined && after.kind === 'directory') return false;
    for (const end of movedFrom === undefined ? [key] : [key, movedFrom.key]) {
      if (keys.has(end)) return false;
      keys.add(end);
    }
  }
  return true;
}

function fileOf(world: World, delta: PlannedDelta, stayed: ReadonlySet<string>): UndoneFile {
  const { key, before, after, movedFrom, bytes } = delta;
  const path = world.workspace.shownAt(delta);
  if (stayed.has(key)) return { path, did: 'kept' };
  if (bytes !== undefined) return { path, did: 'merged' };
  if (movedFrom !== undefined) return { path, did: 'moved-back' };
  if (after.kind === 'absent') return { path, did: 'removed' };
  return { path, did: before.kind === 'absent' ? 'recreated' : 'restored' };
}

/** Diffs of at most this many files are shown, the rest is counted: an answer with more would not be read. */
const MAX_DIFFS = 100;

/** A bounded diff of an undo, under each file's name. A file that only moves back gets one line. */
async function previewDiff(world: World, { deltas, bytes }: UndoPlan): Promise<string> {
  const diffs: string[] = [];
  let more = 0;
  const { shown, gits } = apartFromGit(deltas, ({ relative }) => relative);
  for (const delta of shown) {
    const { after, movedFrom } = delta;
    if (diffs.length >= MAX_DIFFS) more += 1;
    else if (movedFrom !== undefined && after.kind === 'file')
      diffs.push(`${nameOf(world, delta)}\n(moved back from ${nameOf(world, movedFrom)}, same content)`);
    else diffs.push(...(await diffOf(world, delta, bytes)));
  }
  const rest = [
    ...(more === 0 ? [] : [`(and ${more} more files)`]),
    ...(gits.length === 0 ? [] : [`(and ${GITS_OWN_FILES})`]),
  ];
  return [...diffs, ...rest].join('\n');
}

/** The name of a file above its diff, always on one line. */
function nameOf({ workspace }: World, path: NamedPath): string {
  return pathText(workspace.shownAt(path));
}

async function diffOf(world: World, delta: PlannedDelta, bytes: UndoPlan['bytes']): Promise<string[]> {
  const { before, after, relative: path } = delta;
  const name = nameOf(world, delta);
  if (isTooLarge(before) || isTooLarge(after)) return [`${name}\n(too large to compare)`];
  if (before.kind !== 'file' && after.kind !== 'file') return [];
  const bytesOf = async (state: State, read: 'recall' | 'load'): Promise<Uint8Array | undefined> => {
    if (state.kind !== 'file') return Buffer.alloc(0);
    const { fingerprint } = state;
    const held = bytes.get(fingerprint.sha256);
    if (held !== undefined) return held;
    return read === 'load' ? world.images.read(fingerprint) : world.baselines.recall(fingerprint);
  };
  const now = await bytesOf(before, 'recall');
  if (now === undefined) return [`${name}\n(not shown: too many bytes)`];
  const then = (await bytesOf(after, 'load')) ?? Buffer.alloc(0);
  if (hasNoLines(now) || hasNoLines(then))
    return [`${name}\n(binary, ${byteSize(Math.max(now.byteLength, then.byteLength))})`];
  const { text } = maskedDiff<Uint8Array>(now, then, diffOptions(world, path));
  return text === '' ? [] : [`${name}\n${text}`];
}

function isTooLarge(state: State): boolean {
  return state.kind === 'file' && state.fingerprint.size > LIMITS.maxEditBytes;
}
