import { BATCH_FILES } from '../../disk/context.ts';
import { listNames } from '../../disk/list.ts';
import type { Snapshot } from '../../disk/read.ts';
import type { UndoDelta } from '../../journal/undo-steps.ts';
import { inOrder } from '../../model/delta.ts';
import { type State, sameState } from '../../model/entry.ts';
import { unlessErrno } from '../../model/fault.ts';
import type { Stamp } from '../../model/fingerprint.ts';
import { LIMITS } from '../../model/limits.ts';
import { byteSize } from '../../report/amounts.ts';
import { pathText } from '../../report/bounded.ts';
import { hasNoLines } from '../../text/decode.ts';
import { maskedDiff } from '../../text/unified.ts';
import type { World } from '../world.ts';

/** A step of an undo that can run, and the present file at its path. */
export interface FoundChange {
  readonly step: UndoDelta;
  /**
   * The present file with its bytes. Undefined if the file is too large, or if the memory for such
   * files is used up.
   */
  readonly snapshot?: Snapshot | undefined;
  /** The present mode of the file. */
  readonly mode?: number | undefined;
  /** Stat fields of the present file. Set only if unchanged fields prove unchanged bytes. */
  readonly stamp?: Stamp | undefined;
  /**
   * The bytes to restore, if a merge produced them. They are then neither on the disk nor among the
   * stored contents.
   */
  readonly merged?: Uint8Array | undefined;
}

/**
 * The bytes, by hash, of the present files and of merged results. A step may restore bytes that are
 * only in a file that another step removes.
 */
export function presentBytes(found: readonly FoundChange[]): ReadonlyMap<string, Uint8Array> {
  const present = new Map<string, Uint8Array>();
  for (const { step, snapshot, merged } of found) {
    if (snapshot !== undefined) present.set(snapshot.fingerprint.sha256, snapshot.bytes);
    if (merged !== undefined && step.after.kind === 'file')
      present.set(step.after.fingerprint.sha256, merged);
  }
  return present;
}

/**
 * For each path, joins all its steps into one step from the present state to the last restored
 * state. Returns the steps in an order in which they can run. The move of a folder is a boundary:
 * steps before and after it are not joined.
 */
export function joinSteps(found: readonly FoundChange[]): readonly FoundChange[] {
  const joined: FoundChange[] = [];
  let stretch: FoundChange[] = [];
  for (const each of found) {
    if (each.step.movedFrom === undefined) stretch.push(each);
    else {
      joined.push(...joinStretch(stretch), each);
      stretch = [];
    }
  }
  return [...joined, ...joinStretch(stretch)];
}

function joinStretch(found: readonly FoundChange[]): readonly FoundChange[] {
  const byKey = new Map<string, FoundChange>();
  for (const each of found) {
    const earlier = byKey.get(each.step.key);
    byKey.set(each.step.key, earlier === undefined ? each : join(earlier, each));
  }
  if (byKey.size === found.length) return found;
  return [...byKey.values()].sort((a, b) => inOrder(a.step, b.step));
}

function join(first: FoundChange, last: FoundChange): FoundChange {
  const { before, lookAt } = first.step;
  const step = { ...last.step, before, ...(lookAt === undefined ? {} : { lookAt }) };
  return { step, snapshot: first.snapshot, stamp: first.stamp, mode: first.mode, merged: last.merged };
}

/**
 * Pairs of steps that together are a move: a file restored to a free path, and the step that removes the same bytes
 * elsewhere.
 */
function fileMoves(found: readonly FoundChange[]): ReadonlyMap<FoundChange, FoundChange> {
  const moves = new Map<FoundChange, FoundChange>();
  const coming = found.filter(
    ({ step: { before, after } }) => before.kind === 'absent' && after.kind === 'file',
  );
  if (coming.length === 0) return moves;
  const going = new Map<string, FoundChange[]>();
  for (const each of found) {
    const { before, after } = each.step;
    if (before.kind !== 'file' || after.kind !== 'absent') continue;
    const { sha256 } = before.fingerprint;
    const same = going.get(sha256);
    if (same === undefined) going.set(sha256, [each]);
    else same.push(each);
  }
  for (const each of coming) {
    const { after, movedTo } = each.step;
    const same = after.kind === 'file' ? going.get(after.fingerprint.sha256) : undefined;
    const from = same && takeOne(same, movedTo);
    if (from !== undefined) moves.set(each, from);
  }
  return moves;
}

/** Removes one change from the list and returns it: the change at `key`, or else the first one. */
function takeOne(same: FoundChange[], key: string | undefined): FoundChange | undefined {
  const own = key === undefined ? -1 : same.findIndex(({ step }) => step.key === key);
  return same.splice(Math.max(own, 0), 1)[0];
}

/**
 * Replaces the two steps of a move (create at one path, remove at the other) by one rename. Files
 * too large to load need this: no copy of them is stored, because their move destroyed nothing. In
 * a small undo, smaller files that the undone change moved are renamed too, so that they keep their
 * owner, times, extended attributes and hard links.
 */
export function renameMoved(found: readonly FoundChange[], maxBytes: number): readonly FoundChange[] {
  const renames = new Map<FoundChange, FoundChange>();
  const merged = new Set<FoundChange>();
  const [comes, goes] = [isFolderToCome, isFolderToGo].map((is) => found.some(({ step }) => is(step)));
  const isSmall = found.length < BATCH_FILES && !(comes && goes) && found.every(({ step }) => isApart(step));
  for (const [coming, going] of fileMoves(found)) {
    const { before, key, relative } = going.step;
    if (before.kind !== 'file' || !sameState(before, coming.step.after)) continue;
    const isPlain = isSmall && coming.step.movedTo !== undefined && (before.mode & 0o222) !== 0;
    if (!isPlain && before.fingerprint.size <= maxBytes) continue;
    // If the undo creates folders and removes none, rename at `coming`, after the new folder is
    // created. Otherwise rename at `going`, before an old folder is removed.
    const [at, other] = comes && !goes ? [coming, going] : [going, coming];
    renames.set(at, { step: { ...coming.step, movedFrom: { key, relative } }, stamp: going.stamp });
    merged.add(other);
  }
  return found.flatMap((each) => (merged.has(each) ? [] : [renames.get(each) ?? each]));
}

/**
 * False if a step moves something back, changes an existing folder, or puts a file or link in the
 * place of a folder or the other way round. True for all other steps.
 */
function isApart(step: UndoDelta): boolean {
  const hasFolder = [step.before.kind, step.after.kind].includes('directory');
  return step.movedFrom === undefined && (!hasFolder || isFolderToCome(step) || isFolderToGo(step));
}

/** Diffs of at most this many files are shown, the rest is counted: an answer with more would not be read. */
const MAX_DIFFS = 100;

/** Matches the compressed objects of git. A commit makes many, and a diff cannot show them as text. */
const GIT_OBJECT = /(^|\/)\.git\/objects(\/|$)/;

/** A bounded diff of an undo, under each file's name. A file that only moves back gets one line. */
export async function previewDiff(world: World, found: readonly FoundChange[]): Promise<string> {
  const present = presentBytes(found);
  const moves = fileMoves(found);
  const left = new Set(moves.values());
  const diffs: string[] = [];
  let more = 0;
  const shown = found.filter((each) => !left.has(each) && !GIT_OBJECT.test(each.step.relative));
  for (const each of shown) {
    const from = each.step.after.kind === 'file' ? (each.step.movedFrom ?? moves.get(each)?.step) : undefined;
    if (diffs.length >= MAX_DIFFS) more += 1;
    else if (from !== undefined)
      diffs.push(`${nameOf(world, each.step)}\n(moved back from ${nameOf(world, from)}, same content)`);
    else diffs.push(...(await diffOf(world, each, present)));
  }
  return [...diffs, ...objectsOf(found), ...(more === 0 ? [] : [`(and ${more} more files)`])].join('\n');
}

/** The line of a preview that counts all changed git objects. */
function objectsOf(found: readonly FoundChange[]): string[] {
  const objects = found.filter(
    ({ step: { relative, before, after } }) =>
      GIT_OBJECT.test(relative) && (before.kind === 'file' || after.kind === 'file'),
  );
  return objects.length === 0 ? [] : [`.git/objects\n(${objects.length} objects of git)`];
}

/** The name of a file above its diff, always on one line. */
function nameOf({ workspace }: World, step: Pick<UndoDelta, 'key' | 'relative'>): string {
  return pathText(workspace.shownAt(step));
}

async function diffOf(
  world: World,
  { step, snapshot }: FoundChange,
  present: ReadonlyMap<string, Uint8Array>,
): Promise<string[]> {
  const { before, after } = step;
  const name = nameOf(world, step);
  if (isTooLarge(before) || isTooLarge(after)) return [`${name}\n(too large to compare)`];
  if (before.kind !== 'file' && after.kind !== 'file') return [];
  const now = snapshot?.bytes ?? (await bytesOf(world, before, present));
  if (now === undefined) return [`${name}\n(not shown: too many bytes)`];
  const then =
    after.kind === 'file'
      ? (present.get(after.fingerprint.sha256) ?? (await world.images.read(after.fingerprint)))
      : Buffer.alloc(0);
  if (hasNoLines(now) || hasNoLines(then))
    return [`${name}\n(binary, ${byteSize(Math.max(now.byteLength, then.byteLength))})`];
  const { secrets } = world.policy;
  const { maxDiffLines: maxLines } = LIMITS;
  const { text } = maskedDiff<Uint8Array>(now, then, {
    maxLines,
    secrets,
    known: world.secretValues,
    path: step.relative,
  });
  return text === '' ? [] : [`${name}\n${text}`];
}

/**
 * The bytes of a file in the given state: from `present`, or else a cached or stored copy.
 * Undefined if there is no copy. Empty if the state is not that of a file.
 */
async function bytesOf(
  world: World,
  side: State,
  present: ReadonlyMap<string, Uint8Array>,
): Promise<Uint8Array | undefined> {
  if (side.kind !== 'file') return Buffer.alloc(0);
  return present.get(side.fingerprint.sha256) ?? world.baselines.recall(side.fingerprint);
}

function isTooLarge(side: State): boolean {
  return side.kind === 'file' && side.fingerprint.size > LIMITS.maxEditBytes;
}

/** Keys of folders that the steps remove or replace although other entries would stay in them. */
export function foldersInUse(world: World, steps: readonly UndoDelta[]): ReadonlySet<string> {
  const going = new Set(steps.flatMap(leavingOf));
  const inUse = new Set<string>();
  // Steps remove inner folders first, so an inner folder is checked before the one around it.
  for (const step of steps) {
    const leaves = step.before.kind === 'directory' && step.after.kind !== 'directory';
    if (!leaves || step.lookAt !== step.key) continue;
    if (keysIn(world, step.key).some((key) => !going.has(key) || inUse.has(key))) inUse.add(step.key);
  }
  return inUse;
}

/**
 * The keys at which nothing exists after a step: a removed path, or the old place of a moved
 * folder.
 */
function leavingOf({ key, after, movedFrom }: UndoDelta): readonly string[] {
  if (after.kind === 'absent') return [key];
  return movedFrom === undefined ? [] : [movedFrom.key];
}

/**
 * The keys of the entries in a folder. Empty if the folder cannot be listed: the step that removes
 * the folder will then fail if the folder is not empty.
 */
function keysIn(world: World, key: string): readonly string[] {
  const outcome = world.workspace.locate(key, 'undo', 'parents');
  if (!outcome.ok) return [];
  const { located } = outcome;
  try {
    if (!located.exists || !located.stats.isDirectory()) return [];
    const folder = located.place.dir.enter(located.place.name);
    try {
      const entries = unlessErrno(() => listNames(folder)) ?? [];
      return entries.map(({ name }) => world.workspace.child(located.place.path, name).key);
    } finally {
      folder.close();
    }
  } finally {
    located.place.dir.close();
  }
}

function isFolderToCome({ before, after }: UndoDelta): boolean {
  return before.kind === 'absent' && after.kind === 'directory';
}

function isFolderToGo({ before, after }: UndoDelta): boolean {
  return before.kind === 'directory' && after.kind === 'absent';
}
