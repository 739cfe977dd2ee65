import { fingerprintOf } from '../../disk/read.ts';
import { type BlockedPath, blockedBy, type UndoOutcome } from '../../journal/undo-blocked.ts';
import type { UndoDelta } from '../../journal/undo-steps.ts';
import { type Awaitable, andThen } from '../../model/awaitable.ts';
import { WHOLE } from '../../model/coverage.ts';
import { type State, sameContent } from '../../model/entry.ts';
import { type Fingerprint, sameFingerprint } from '../../model/fingerprint.ts';
import { LIMITS } from '../../model/limits.ts';
import { isBelow } from '../../model/path.ts';
import type { UndoSelection } from '../../model/session.ts';
import { NO_FLAGS, type Sighting } from '../../model/sighting.ts';
import { type Outcome, type Refusal, refused, type UndoCall } from '../../model/verdict.ts';
import { isGitIndex, stagedContent } from '../../process/git-position.ts';
import { decodeText } from '../../text/decode.ts';
import { merge3 } from '../../text/merge.ts';
import { maskedDiff } from '../../text/unified.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import { movedSightings } from '../../views/sightings.ts';
import type { World } from '../world.ts';
import { type FoundChange, joinSteps, presentBytes, renameMoved } from './found-changes.ts';
import { type PathState, Rehearsal } from './rehearsal.ts';

/**
 * Simulates the steps in order without touching the disk. Each step must find the state that the
 * plan expects, on the disk or left by an earlier step. A step that finds another state is merged
 * or refused, except if the path already has the state to restore. For a partial undo, checks all
 * steps, so that every path that cannot be restored is known.
 */
export async function checkSteps(
  world: World,
  steps: readonly UndoDelta[],
  selection: UndoSelection,
): Promise<UndoOutcome<{ readonly found: readonly FoundChange[] }>> {
  const rehearsal = new Rehearsal(world, steps);
  const checked: FoundChange[] = [];
  const blocked: BlockedPath[] = [];
  try {
    for (const step of steps) {
      const checking = check(rehearsal, step, selection);
      // Most files are read synchronously. Awaiting each of thousands would take longer than reading them.
      const outcome = checking instanceof Promise ? await checking : checking;
      if (!outcome.ok) {
        blocked.push({ key: step.key, refusal: outcome.refusal });
        if (selection.partial !== true) break;
        continue;
      }
      rehearsal.done(outcome);
      checked.push(outcome);
    }
  } finally {
    rehearsal.close();
  }
  const refusal = blockedBy(blocked);
  if (refusal !== undefined) return refusal;
  const found = renameMoved(joinSteps(checked), LIMITS.maxEditBytes);
  const present = presentBytes(found);
  for (const { step } of found) {
    const sha256 = neededImage(step);
    if (sha256 !== undefined && !present.has(sha256) && !(await world.images.has(sha256)))
      blocked.push({ key: step.key, refusal: await notKept(world, step) });
  }
  return blockedBy(blocked) ?? { ok: true, found };
}

function check(
  rehearsal: Rehearsal,
  step: UndoDelta,
  selection: UndoSelection,
): Awaitable<Outcome<FoundChange>> {
  if (step.movedFrom !== undefined) return checkMove(rehearsal, { step, from: step.movedFrom }, selection);
  return andThen(rehearsal.at(step), (outcome): Awaitable<Outcome<FoundChange>> => {
    if (!outcome.ok) return outcome;
    const { state } = outcome;
    if (state === undefined) return { ok: true, step };
    const { side, stamp } = state;
    const mode = side.kind === 'file' ? side.mode : undefined;
    const snapshot = rehearsal.held(state.snapshot);
    if (!sameContent(side, step.before))
      return checkOther(rehearsal.world, { step, snapshot }, { state, selection });
    // Only a preview needs this check: a real undo detects a read-only file at the replacement.
    if (selection.preview === true && isLocked(side, step)) return refused(readOnly(rehearsal.world, step));
    return { ok: true, step, snapshot, stamp, mode };
  });
}

/** True if a file has become read-only since the change, so that an undo may not replace or remove it. */
function isLocked(side: State, { before, after }: UndoDelta): boolean {
  if (side.kind !== 'file' || before.kind !== 'file' || sameContent(side, after)) return false;
  return (side.mode & 0o222) === 0 && (before.mode & 0o222) !== 0;
}

function readOnly({ workspace }: World, step: UndoDelta): Refusal {
  return { code: 'READ_ONLY', action: 'undo', path: workspace.shownAt(step), next: 'ask_human' };
}

/** Checks a folder that moves back: it must be where the change moved it, and its old path must be free. */
async function checkMove(
  rehearsal: Rehearsal,
  { step, from }: { readonly step: UndoDelta; readonly from: NonNullable<UndoDelta['movedFrom']> },
  selection: UndoSelection,
): Promise<Outcome<FoundChange>> {
  const [source, target] = [await rehearsal.at(from), await rehearsal.at(step)];
  if (!source.ok) return source;
  if (!target.ok) return target;
  const isAt = ({ state }: typeof source, kind: State['kind']): boolean => state?.side.kind === kind;
  // Accept that the user or another program has already moved the folder back.
  if (isAt(source, 'absent') && isAt(target, 'directory')) {
    const { movedFrom: _, ...rest } = step;
    return { ok: true, step: { ...rest, before: target.state?.side ?? step.after } };
  }
  const { world } = rehearsal;
  const wrong = [
    { state: target.state, at: step, kind: 'absent' },
    { state: source.state, at: { ...step, ...from, before: step.after }, kind: step.after.kind },
  ].find(({ state, kind }) => state !== undefined && state.side.kind !== kind);
  if (wrong?.state === undefined) return { ok: true, step };
  return refused(await changedSince(world, wrong.at, { state: wrong.state, selection }));
}

/** Checks a step whose path has another state than the plan expects. */
async function checkOther(
  world: World,
  { step, snapshot }: FoundChange,
  { state, selection }: { readonly state: PathState; readonly selection: UndoSelection },
): Promise<Outcome<FoundChange>> {
  const { side } = state;
  // The path already has its earlier state: the user or another program has reverted the change.
  if (sameContent(side, step.after)) return { ok: true, step: { ...step, before: side }, snapshot };
  if (await isRenewedIndex(world, step, state))
    return { ok: true, step: { ...step, before: side }, snapshot };
  const merged = selection.merge === true ? await merge(world, step, state) : undefined;
  return merged === undefined
    ? refused(await changedSince(world, step, { state, selection }))
    : { ok: true, ...merged };
}

/**
 * True for a git index that stages the same content as right after the undone change. Editors run
 * `git status`, which rewrites only the times in the index.
 */
async function isRenewedIndex(
  world: World,
  { before, relative }: UndoDelta,
  state: PathState,
): Promise<boolean> {
  if (!isGitIndex(relative) || before.kind !== 'file') return false;
  const [left, now] = [await world.baselines.recall(before.fingerprint), await bytesOf(world, state)];
  if (left === undefined || now === undefined) return false;
  return stagedContent(Buffer.from(left)) === stagedContent(Buffer.from(now));
}

/**
 * The hash of the bytes that a step must take from the store. Undefined if the bytes are at the
 * path already or move there.
 */
function neededImage({ before, after, movedFrom }: UndoDelta): string | undefined {
  if (after.kind !== 'file' || movedFrom !== undefined || sameContent(before, after)) return undefined;
  return after.fingerprint.sha256;
}

async function notKept(world: World, step: UndoDelta): Promise<Refusal> {
  const { after } = step;
  const path = world.workspace.shownAt(step);
  const keeper = after.kind === 'file' && (await world.images.keeper?.(after.fingerprint.sha256));
  const reason = keeper
    ? `its earlier bytes are only on the machine ${keeper}, because they are secret or over 1 MB: undo the change there`
    : 'its earlier bytes are no longer kept';
  return { code: 'NOT_FOUND', action: 'undo', path, next: 'use_edit', detail: { reason } };
}

/** Three-way merge: base is the state after the change, theirs the present state, ours the state before the change. */
async function merge(
  world: World,
  step: UndoDelta,
  { side, snapshot, bytes }: PathState,
): Promise<FoundChange | undefined> {
  if (step.before.kind !== 'file' || step.after.kind !== 'file' || side.kind !== 'file') return undefined;
  const base = await world.baselines.recall(step.before.fingerprint);
  const now = await bytesOf(world, { side, bytes });
  if (base === undefined || now === undefined) return undefined;
  const [from, ours, theirs] = [base, await world.images.read(step.after.fingerprint), now].map((each) =>
    decodeText(each),
  );
  if (from === undefined || ours === undefined || theirs === undefined || theirs.encoding !== 'utf-8')
    return undefined;
  const text = merge3(from.text, ours.text, theirs.text);
  if (!text.clean) return undefined;
  const merged = Buffer.from(`${theirs.bom ? '\ufeff' : ''}${text.text}`, 'utf8');
  const before: State = { ...step.before, fingerprint: side.fingerprint };
  const after: State = { ...step.after, fingerprint: fingerprintOf(merged), kept: true };
  return { step: { ...step, before, after }, snapshot, merged };
}

/** The call that repeats this undo with a merge; undefined if it merges already or a tool call cannot express it. */
export function mergedCall(selection: UndoSelection): UndoCall | undefined {
  const { change, path, session, sinceMs, merge } = selection;
  if (merge === true || session !== undefined || sinceMs !== undefined) return undefined;
  return {
    ...(change === undefined ? {} : { change }),
    ...(path === undefined ? {} : { path }),
    merge: true,
  };
}

async function changedSince(
  world: World,
  step: UndoDelta,
  { state, selection }: { readonly state: PathState; readonly selection: UndoSelection },
): Promise<Refusal> {
  const base = { action: 'undo', path: world.workspace.shownAt(step) } as const;
  if (state.side.kind === 'absent') {
    const detail = { reason: 'it was deleted since that change' };
    return { ...base, code: 'DELETED', next: 'other_tool', detail };
  }
  const reason = 'it was changed since that change';
  const areFiles = [state.side, step.before, step.after].every(({ kind }) => kind === 'file');
  const undo = areFiles ? mergedCall(selection) : undefined;
  const next = undo !== undefined ? 'fix_argument' : state.side.kind === 'file' ? 'read' : 'ask_human';
  const detail = { reason, ...(undo && { undo }) };
  const now = await bytesOf(world, state);
  const left =
    step.before.kind === 'file' ? await world.baselines.recall(step.before.fingerprint) : undefined;
  if (left === undefined || now === undefined) return { ...base, code: 'STALE', next, detail };
  const { secrets } = world.policy;
  const { maxDiffLines: maxLines } = LIMITS;
  const { text } = maskedDiff<Uint8Array>(left, now, {
    maxLines,
    secrets,
    known: world.secretValues,
    path: step.relative,
  });
  return { ...base, code: 'STALE', next, detail: { ...detail, diff: text } };
}

async function bytesOf(world: World, { side, bytes }: PathState): Promise<Uint8Array | undefined> {
  if (bytes !== undefined || side.kind !== 'file') return bytes;
  return world.baselines.recall(side.fingerprint);
}

/** What a session has seen of the item that a step restores. */
interface SeenItem {
  /** The earlier view of the restored file or folder: the lines or names that the session was shown. */
  readonly known?: Sighting | undefined;
  /** For a folder that moves back: what was seen of the files in it, under their present paths. */
  readonly moving?: readonly Sighting[];
}

const NOT_SEEN: SeenItem = {};

/**
 * Finds the lines that the session has seen of each item (file, link or folder) that an undo
 * restores. Callers must pass the steps in order.
 */
export class SeenBefore {
  readonly #knowledge: Knowledge;
  /**
   * Keys of files that the undo removes, by the hash of their bytes. If the undo restores these
   * bytes at another path, the lines seen at the removed path count there.
   */
  readonly #going: ReadonlyMap<string, string>;
  /**
   * The lines seen of items that earlier steps restored, by key. If a folder moves back, the keys
   * of its items change accordingly.
   */
  #brought = new Map<string, Sighting>();

  constructor(knowledge: Knowledge, steps: readonly UndoDelta[]) {
    this.#knowledge = knowledge;
    const going = steps.flatMap(({ key, before, after }): [string, string][] =>
      after.kind === 'absent' && before.kind === 'file' ? [[before.fingerprint.sha256, key]] : [],
    );
    // Reverse the list, so that the first of several files with the same bytes is used.
    this.#going = new Map(going.reverse());
  }

  /**
   * The lines that the session has seen of the item that a step restores. Returns no promise for a
   * step that only removes a file: an undo may remove thousands of files.
   */
  of(step: UndoDelta): Awaitable<SeenItem> {
    return step.movedFrom === undefined && step.after.kind === 'absent' ? NOT_SEEN : this.#of(step);
  }

  async #of(step: UndoDelta): Promise<SeenItem> {
    if (step.movedFrom !== undefined) return { moving: await this.#moving(step.movedFrom.key, step.key) };
    const known = await this.#known(step);
    if (known !== undefined) this.#brought.set(step.key, known);
    return { known };
  }

  async #known({ key, after }: UndoDelta): Promise<Sighting | undefined> {
    if (after.kind === 'directory') return this.#knowledge.listing(key);
    if (after.kind !== 'file') return undefined;
    const before = await this.#knowledge.wholeView(key, after.fingerprint);
    if (before !== undefined) return { ...before, how: 'write' };
    const from = this.#going.get(after.fingerprint.sha256);
    const seen = from === undefined ? undefined : await this.#knowledge.recall(from);
    if (seen?.fingerprint?.sha256 === after.fingerprint.sha256) return { ...seen, key };
    // Another process of the session may have deleted the file: its record names the seen bytes.
    return broughtBack(await this.#knowledge.recall(key), after.fingerprint);
  }

  async #moving(from: string, to: string): Promise<readonly Sighting[]> {
    const present = new Map((await this.#knowledge.below(from)).map((seen) => [seen.key, seen]));
    for (const [key, seen] of this.#brought) if (isBelow(key, from)) present.set(key, seen);
    const moving = [...present.values()];
    for (const seen of movedSightings(moving, { from, to })) this.#brought.set(seen.key, seen);
    return moving;
  }
}

/** The sighting of a deleted file whose bytes, which the session had seen whole, are there again. */
function broughtBack(gone: Sighting | undefined, fingerprint: Fingerprint): Sighting | undefined {
  const isKnown = gone?.seenBefore?.some((seen) => sameFingerprint(seen, fingerprint)) === true;
  if (!isKnown || gone?.tombstone !== true) return undefined;
  const { key, atMs } = gone;
  const place = { key, fingerprint, stamp: undefined, racy: true, totalLines: undefined } as const;
  return { ...place, coverage: WHOLE, flags: NO_FLAGS, how: 'write', atMs };
}
