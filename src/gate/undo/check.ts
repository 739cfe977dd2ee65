import { fingerprintOf, type Snapshot } from '../../disk/read.ts';
import type { UndoStep } from '../../journal/undo-steps.ts';
import { type Ledger, sightingsBelow } from '../../ledger/ledger.ts';
import { movedSightings } from '../../ledger/sightings.ts';
import { type Awaitable, andThen } from '../../model/awaitable.ts';
import { type Side, sameContent } from '../../model/entry.ts';
import type { Stamp } from '../../model/fingerprint.ts';
import { isBelow, type Place } from '../../model/path.ts';
import type { UndoSelection } from '../../model/session.ts';
import type { Sighting } from '../../model/sighting.ts';
import { type Outcome, type Refusal, refused, type UndoCall } from '../../model/verdict.ts';
import { isGitIndex, stagedContent } from '../../process/git-position.ts';
import { decodeText } from '../../text/decode.ts';
import { merge3 } from '../../text/merge.ts';
import { maskedDiff } from '../../text/unified.ts';
import { SharedDirectory } from '../../workspace/pinned.ts';
import type { Located } from '../../workspace/workspace.ts';
import { areIndependent } from '../restore-many.ts';
import type { RestoreContext } from '../restore-step.ts';
import { ABSENT, type FoundSide, sideOfLocated } from '../step.ts';
import type { World } from '../world.ts';
import { type FoundChange, joinSteps, moveLargeFiles, presentBytes } from './found-changes.ts';

/**
 * Files that an undo removes stay in memory up to this total size, in bytes. Each file counts as at
 * least `HELD_FILE_BYTES`.
 */
const HELD_BYTES = 16 << 20;
const HELD_FILE_BYTES = 64 << 10;

/** The state of a path at one point of the simulated undo. */
interface State {
  readonly side: Side;
  /** The file on the disk, if this is the present state. */
  readonly snapshot?: Snapshot | undefined;
  /** The stamp of the file on the disk. Set only if an unchanged stamp proves unchanged bytes. */
  readonly stamp?: Stamp | undefined;
  /** The bytes of a file, if they are in memory. */
  readonly bytes?: Uint8Array | undefined;
}

/**
 * Simulates the steps in order without touching the disk. Each step must find the state that the
 * plan expects, on the disk or left by an earlier step. If it finds another state, it is merged or
 * refused, unless that is the state to restore.
 */
export async function checkSteps(
  world: World,
  steps: readonly UndoStep[],
  selection: UndoSelection,
): Promise<Outcome<{ readonly found: readonly FoundChange[] }>> {
  const rehearsal = new Rehearsal(world, steps);
  const checked: FoundChange[] = [];
  try {
    for (const step of steps) {
      const checking = check(rehearsal, step, selection);
      // Most files are read synchronously. Awaiting each of thousands would take longer than reading them.
      const outcome = checking instanceof Promise ? await checking : checking;
      if (!outcome.ok) return outcome;
      rehearsal.done(outcome);
      checked.push(outcome);
    }
  } finally {
    rehearsal.close();
  }
  const found = moveLargeFiles(joinSteps(checked), world.policy.maxEditBytes);
  const present = presentBytes(found);
  for (const { step } of found) {
    const sha256 = neededImage(step);
    if (sha256 !== undefined && !present.has(sha256) && !(await world.images.has(sha256)))
      return refused(await notKept(world, step));
  }
  return { ok: true, found };
}

function check(
  rehearsal: Rehearsal,
  step: UndoStep,
  selection: UndoSelection,
): Awaitable<Outcome<FoundChange>> {
  return andThen(rehearsal.at(step), (outcome): Awaitable<Outcome<FoundChange>> => {
    if (!outcome.ok) return outcome;
    const { state } = outcome;
    if (state === undefined) return { ok: true, step };
    const { side, stamp } = state;
    const mode = side.kind === 'file' ? side.mode : undefined;
    const snapshot = rehearsal.held(step, state.snapshot);
    if (sameContent(side, step.expect)) return { ok: true, step, snapshot, stamp, mode };
    return checkOther(rehearsal.world, { step, snapshot }, { state, selection });
  });
}

/** Checks a step whose path has another state than the plan expects. */
async function checkOther(
  world: World,
  { step, snapshot }: FoundChange,
  { state, selection }: { readonly state: State; readonly selection: UndoSelection },
): Promise<Outcome<FoundChange>> {
  const { side } = state;
  // The path already has its earlier state: the user or another program has reverted the change.
  if (sameContent(side, step.restore)) return { ok: true, step: { ...step, expect: side }, snapshot };
  if (await isRenewedIndex(world, step, state))
    return { ok: true, step: { ...step, expect: side }, snapshot };
  const merged = selection.merge === true ? await merge(world, step, state) : undefined;
  return merged === undefined
    ? refused(await changedSince(world, step, { state, selection }))
    : { ok: true, ...merged };
}

/**
 * True for a git index that stages the same content as right after the undone change. Editors run
 * `git status`, which rewrites only the times in the index.
 */
async function isRenewedIndex(world: World, { expect, relative }: UndoStep, state: State): Promise<boolean> {
  if (!isGitIndex(relative) || expect.kind !== 'file') return false;
  const [left, now] = [await world.baselines.recall(expect.fingerprint), await bytesOf(world, state)];
  if (left === undefined || now === undefined) return false;
  return stagedContent(Buffer.from(left)) === stagedContent(Buffer.from(now));
}

/**
 * The hash of the bytes that a step must take from the store. Undefined if the bytes are at the
 * path already or move there.
 */
function neededImage({ expect, restore, from }: UndoStep): string | undefined {
  if (restore.kind !== 'file' || from !== undefined || sameContent(expect, restore)) return undefined;
  return restore.fingerprint.sha256;
}

async function notKept(world: World, step: UndoStep): Promise<Refusal> {
  const { restore } = step;
  const path = world.workspace.shownAt(step);
  const keeper = restore.kind === 'file' && (await world.images.keeper?.(restore.fingerprint.sha256));
  const reason = keeper
    ? `its earlier bytes are only on the machine ${keeper}, because they are secret or over 1 MB: undo the change there`
    : 'its earlier bytes are no longer kept';
  return { code: 'NOT_FOUND', action: 'undo', path, next: 'use_edit', detail: { reason } };
}

/** Three-way merge: base is the state after the change, theirs the present state, ours the state before the change. */
async function merge(
  world: World,
  step: UndoStep,
  { side, snapshot, bytes }: State,
): Promise<FoundChange | undefined> {
  if (step.expect.kind !== 'file' || step.restore.kind !== 'file' || side.kind !== 'file') return undefined;
  const base = await world.baselines.recall(step.expect.fingerprint);
  const now = await bytesOf(world, { side, bytes });
  if (base === undefined || now === undefined) return undefined;
  const [from, ours, theirs] = [base, await world.images.read(step.restore.fingerprint), now].map((each) =>
    decodeText(each),
  );
  if (from === undefined || ours === undefined || theirs === undefined || theirs.encoding !== 'utf-8')
    return undefined;
  const text = merge3(from.text, ours.text, theirs.text);
  if (!text.clean) return undefined;
  const merged = Buffer.from(`${theirs.bom ? '\ufeff' : ''}${text.text}`, 'utf8');
  const expect: Side = { ...step.expect, fingerprint: side.fingerprint };
  const restore: Side = { ...step.restore, fingerprint: fingerprintOf(merged), kept: true };
  return { step: { ...step, expect, restore }, snapshot, merged };
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
  step: UndoStep,
  { state, selection }: { readonly state: State; readonly selection: UndoSelection },
): Promise<Refusal> {
  const base = { action: 'undo', path: world.workspace.shownAt(step) } as const;
  if (state.side.kind === 'absent') {
    const detail = { reason: 'it was deleted since that change' };
    return { ...base, code: 'DELETED', next: 'other_tool', detail };
  }
  const reason = 'it was changed since that change';
  const areFiles = [state.side, step.expect, step.restore].every(({ kind }) => kind === 'file');
  const undo = areFiles ? mergedCall(selection) : undefined;
  const next = undo !== undefined ? 'fix_argument' : state.side.kind === 'file' ? 'read' : 'ask_human';
  const detail = { reason, ...(undo && { undo }) };
  const now = await bytesOf(world, state);
  const left =
    step.expect.kind === 'file' ? await world.baselines.recall(step.expect.fingerprint) : undefined;
  if (left === undefined || now === undefined) return { ...base, code: 'STALE', next, detail };
  const { maxDiffLines: maxLines, secrets } = world.policy;
  const { text } = maskedDiff<Uint8Array>(left, now, { maxLines, secrets, path: step.relative });
  return { ...base, code: 'STALE', next, detail: { ...detail, diff: text } };
}

async function bytesOf(world: World, { side, bytes }: State): Promise<Uint8Array | undefined> {
  if (bytes !== undefined || side.kind !== 'file') return bytes;
  return world.baselines.recall(side.fingerprint);
}

/** Simulates the steps of an undo without touching the disk: tracks what each path holds when a step reaches it. */
class Rehearsal {
  readonly world: World;
  /** The states that the steps so far leave behind, by key. */
  #left = new Map<string, State>();
  /**
   * Keys where a step makes a folder. If a file or a link is there now, paths below it do not exist
   * yet, even if the link leads to a folder.
   */
  readonly #folders: ReadonlySet<string>;
  readonly #isFolder = new Map<string, boolean>();
  /** True if no step depends on another: every key has one step, and nothing moves. */
  readonly #isAlone: boolean;
  /** Hashes of the bytes that steps restore. */
  readonly #restored: ReadonlySet<string>;
  #room = HELD_BYTES;
  /** The folder of the last located key, held open. */
  #near: { readonly folder: string; readonly place: Place } | undefined;

  constructor(world: World, steps: readonly UndoStep[]) {
    this.world = world;
    this.#isAlone = areIndependent(steps.map((step) => ({ step })));
    this.#restored = new Set(
      steps.flatMap(({ restore }) => (restore.kind === 'file' ? [restore.fingerprint.sha256] : [])),
    );
    this.#folders = new Set(
      steps.flatMap(({ restore, lookAt }) =>
        restore.kind === 'directory' && lookAt !== undefined ? [lookAt] : [],
      ),
    );
  }

  /** The state that the step will find. Undefined if it is known only after earlier steps have run. */
  at({ key, lookAt }: UndoStep): Awaitable<Outcome<{ readonly state: State | undefined }>> {
    const left = this.#isAlone ? undefined : this.#left.get(key);
    if (left !== undefined) return { ok: true, state: left };
    if (lookAt === undefined) return { ok: true, state: undefined };
    if (this.#isBelowNoFolder(lookAt)) return { ok: true, state: { side: ABSENT } };
    const outcome = this.#locate(lookAt);
    if (!outcome.ok) return outcome;
    const { maxEditBytes } = this.world.policy;
    const { dir } = outcome.located.place;
    // Copy field by field: for thousands of files, object spreads would take a tenth of the whole time.
    const stateOf = ({ side, snapshot, stamp }: FoundSide) => ({
      ok: true as const,
      state: { side, snapshot, stamp, bytes: snapshot?.bytes },
    });
    let found: Awaitable<FoundSide>;
    try {
      found = sideOfLocated(this.world, outcome.located, maxEditBytes);
    } catch (error) {
      dir.close();
      throw error;
    }
    if (found instanceof Promise) return found.then(stateOf).finally(() => dir.close());
    dir.close();
    return stateOf(found);
  }

  /** Locates a key. Keys of one folder follow each other, so the last folder stays open for the next key. */
  #locate(key: string): Outcome<{ readonly located: Located }> {
    const { workspace } = this.world;
    const slash = key.lastIndexOf('/');
    const beside =
      this.#near !== undefined && this.#near.folder === key.slice(0, slash)
        ? workspace.locateBeside(this.#near.place, key.slice(slash + 1), 'undo')
        : undefined;
    if (beside?.place.path.key === key) return { ok: true, located: beside };
    const outcome = workspace.locate(key, 'undo', 'parents');
    if (!outcome.ok || !outcome.located.exists || outcome.located.place.path.key !== key) return outcome;
    this.close();
    const { located } = outcome;
    this.#near = { folder: key.slice(0, slash), place: located.place };
    const dir = new SharedDirectory(located.place.dir);
    return { ok: true, located: { ...located, place: { ...located.place, dir } } };
  }

  close(): void {
    this.#near?.place.dir.close();
    this.#near = undefined;
  }

  /**
   * Returns the file if its bytes should stay in memory. Bytes that the undo will need stay. Of the
   * other removed files, only the first ones stay, for the preview.
   */
  held({ restore }: UndoStep, snapshot: Snapshot | undefined): Snapshot | undefined {
    if (snapshot === undefined || restore.kind !== 'absent') return snapshot;
    if (this.#restored.has(snapshot.fingerprint.sha256)) return snapshot;
    this.#room -= Math.max(snapshot.bytes.byteLength, HELD_FILE_BYTES);
    return this.#room < 0 ? undefined : snapshot;
  }

  /** Records the state that a checked step leaves behind. */
  done({ step, merged }: FoundChange): void {
    if (this.#isAlone) return;
    const { key, restore, from } = step;
    if (from !== undefined) this.#move(from.key, key);
    this.#left.set(key, { side: restore, bytes: merged });
  }

  #move(from: string, to: string): void {
    const left = new Map<string, State>();
    for (const [key, state] of this.#left) {
      if (isBelow(key, from)) left.set(`${to}${key.slice(from.length)}`, state);
      // Drop states recorded below the new path: the moved folder brings its own content.
      else if (!isBelow(key, to)) left.set(key, state);
    }
    this.#left = left.set(from, { side: ABSENT });
  }

  #isBelowNoFolder(key: string): boolean {
    if (this.#folders.size === 0) return false;
    for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
      const above = key.slice(0, end);
      if (this.#folders.has(above) && !this.#isFolderNow(above)) return true;
    }
    return false;
  }

  #isFolderNow(key: string): boolean {
    const known = this.#isFolder.get(key);
    if (known !== undefined) return known;
    const outcome = this.world.workspace.locate(key, 'undo', 'parents');
    const isFolder = outcome.ok && outcome.located.exists && outcome.located.stats.isDirectory();
    if (outcome.ok) outcome.located.place.dir.close();
    this.#isFolder.set(key, isFolder);
    return isFolder;
  }
}

const NOT_SEEN: Pick<RestoreContext, 'known'> = {};

/**
 * Finds the lines that the session has seen of each item (file, link or folder) that an undo
 * restores. Callers must pass the steps in order.
 */
export class SeenBefore {
  readonly #ledger: Ledger;
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

  constructor(ledger: Ledger, steps: readonly UndoStep[]) {
    this.#ledger = ledger;
    const going = steps.flatMap(({ key, expect, restore }): [string, string][] =>
      restore.kind === 'absent' && expect.kind === 'file' ? [[expect.fingerprint.sha256, key]] : [],
    );
    // Reverse the list, so that the first of several files with the same bytes is used.
    this.#going = new Map(going.reverse());
  }

  /**
   * The lines that the session has seen of the item that a step restores. Returns no promise for a
   * step that only removes a file: an undo may remove thousands of files.
   */
  of(step: UndoStep): Awaitable<Pick<RestoreContext, 'known' | 'moving'>> {
    return step.from === undefined && step.restore.kind === 'absent' ? NOT_SEEN : this.#of(step);
  }

  async #of(step: UndoStep): Promise<Pick<RestoreContext, 'known' | 'moving'>> {
    if (step.from !== undefined) return { moving: await this.#moving(step.from.key, step.key) };
    const known = await this.#known(step);
    if (known !== undefined) this.#brought.set(step.key, known);
    return { known };
  }

  async #known({ key, restore }: UndoStep): Promise<Sighting | undefined> {
    if (restore.kind === 'directory') return this.#ledger.earlier.listing(key);
    if (restore.kind !== 'file') return undefined;
    const before = await this.#ledger.earlier.file(key, restore.fingerprint);
    if (before !== undefined) return { ...before, how: 'write' };
    const from = this.#going.get(restore.fingerprint.sha256);
    const seen = from === undefined ? undefined : await this.#ledger.recall(from);
    return seen?.fingerprint?.sha256 === restore.fingerprint.sha256 ? { ...seen, key } : undefined;
  }

  async #moving(from: string, to: string): Promise<readonly Sighting[]> {
    const present = new Map((await sightingsBelow(this.#ledger, from)).map((seen) => [seen.key, seen]));
    for (const [key, seen] of this.#brought) if (isBelow(key, from)) present.set(key, seen);
    const moving = [...present.values()];
    for (const seen of movedSightings(moving, { from, to })) this.#brought.set(seen.key, seen);
    return moving;
  }
}
