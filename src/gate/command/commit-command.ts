import type { Ledger } from '../../ledger/ledger.ts';
import type { ClientCall } from '../../model/call.ts';
import { type LineRange, linesCoverage, rangesOf } from '../../model/coverage.ts';
import { inOrder } from '../../model/delta.ts';
import { sameFingerprint } from '../../model/fingerprint.ts';
import { LIMITS } from '../../model/limits.ts';
import type { CommandPolicy } from '../../model/policy.ts';
import type { CommandFile, RunResult } from '../../model/results.ts';
import { NO_FLAGS, type Sighting } from '../../model/sighting.ts';
import { type Outcome, type Refusal, type Refused, refused } from '../../model/verdict.ts';
import type { Layer } from '../../process/layer.ts';
import type { AttributeReader } from '../../process/layer-entries.ts';
import { clip, MAX_QUOTED_CHARS } from '../../report/bounded.ts';
import { MAX_PATHS_IN_TEXT } from '../../report/command-words.ts';
import { carryRanges } from '../../text/change.ts';
import { lineCount } from '../../text/lines.ts';
import { maskedDiff, type UnifiedDiff } from '../../text/unified.ts';
import { apply } from '../apply.ts';
import { lockKeys } from '../keys.ts';
import type { ChangePlan, PlannedDelta } from '../plan.ts';
import { worldFor } from '../running-change.ts';
import type { World } from '../world.ts';
import { type LayerContent, layerKeys, readLayer, restoreLayer } from './layer-content.ts';
import { bytesAfter, bytesBefore, plainText } from './lost-update.ts';
import { namedWrites } from './named-writes.ts';
import { shownNameOf } from './shown-name.ts';
import { type RefusedWrites, type Vetted, vetWrites } from './vet-writes.ts';
import { readWriteSet, type WriteSet, type Written } from './write-set.ts';

/**
 * Maximum number of tries to commit. If a program changes a file during a try, the next try
 * compares the layer with the workspace again. After the last try, the commit is refused.
 */
const MAX_TRIES = 3;
const MAX_COMMAND_CHARS = 1000;
const MAX_REMEMBERED_BYTES = 64 << 10;
/**
 * A commit of at least this many files does not copy them: it creates hard links in the workspace
 * to the files that the command wrote in its layer.
 */
const LINKED_FILES = 200;

/**
 * A layer (the private copy-on-write view on which a command ran) whose command has ended, and how
 * to commit it.
 */
export interface LayerCommit {
  readonly layer: Layer;
  readonly attributes: AttributeReader;
  /** The command line for the journal, with its secrets masked. */
  readonly command: string;
  readonly writes: CommandPolicy['writes'];
  /**
   * How to treat changes that other programs made while the command ran. `merge`: merge them with
   * the command's result, or refuse if that fails. `overwrite`: replace them, because the caller
   * has seen them.
   */
  readonly meanwhile: 'merge' | 'overwrite';
  /** `shown`: the model is shown the changes, so that they count as seen. `silent`: it is not. */
  readonly answer: 'shown' | 'silent';
  /**
   * The times at which the call arrived and was answered. Lines that the session saw only after the
   * arrival do not count as seen for this call. Absent if the client sends one call at a time.
   */
  readonly times?: ClientCall | undefined;
}

/** The result of a commit, as fields of `RunResult`. */
export type CommittedCommand = Pick<
  RunResult,
  'change' | 'committed' | 'files' | 'cut' | 'merged' | 'leftOut' | 'droppedBits'
>;

/**
 * Commits all of a command's writes or none, as one change that one undo takes back. If the policy
 * discards writes, only reports them.
 */
export async function commitCommand(
  world: World,
  ledger: Ledger,
  commit: LayerCommit,
): Promise<Outcome<CommittedCommand>> {
  const read = readLayer(commit.layer, commit.attributes);
  let isDone = false;
  try {
    const outcome = await commitContent(world, ledger.during(commit.times), {
      ...commit,
      content: namedInRoots(world, read),
    });
    isDone = outcome.ok;
    return outcome;
  } finally {
    if (!isDone) restoreLayer(commit.layer, read);
  }
}

async function commitContent(
  world: World,
  ledger: Ledger,
  commit: LayerCommit & { readonly content: LayerContent },
): Promise<Outcome<CommittedCommand>> {
  const { content } = commit;
  if (content.folders.every(({ entries }) => entries.length === 0)) return { ok: true, ...NOTHING_CHANGED };
  const keys = layerKeys(world, content);
  let outcome: Outcome<CommittedCommand> = refused(busy());
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const release = await lockKeys(world, keys);
    if (release === undefined) return refused(busy());
    try {
      const tried = await commitLocked(world, ledger, { ...commit, keys });
      if (!('again' in tried)) return tried;
      outcome = refused(tried.again);
    } finally {
      release();
    }
  }
  return outcome;
}

/**
 * A file system that is mounted inside a root has its own folder in the layer. Assigns the entries
 * of that folder to the root, with paths relative to the root.
 */
function namedInRoots({ workspace }: World, { folders, ...rest }: LayerContent): LayerContent {
  const named = folders.map((folder) => {
    if ([...workspace.roots, ...workspace.annexes].includes(folder.root)) return folder;
    const { root, relative } = workspace.pathOf(folder.root) ?? {};
    if (root === undefined || relative === undefined) return folder;
    const entries = folder.entries.map((entry) => ({ ...entry, relative: `${relative}/${entry.relative}` }));
    return { root, entries };
  });
  return { ...rest, folders: named };
}

const NOTHING_CHANGED: CommittedCommand = {
  committed: true,
  files: [],
  cut: 0,
  merged: [],
  leftOut: [],
  droppedBits: [],
};

async function commitLocked(
  world: World,
  ledger: Ledger,
  commit: LayerCommit & { readonly content: LayerContent; readonly keys: readonly string[] },
): Promise<Outcome<CommittedCommand> | { readonly again: Refusal }> {
  const read = await readWriteSet(world, commit.content);
  if (!read.ok) return read;
  const { set } = read;
  if (commit.writes === 'discard') {
    const { files, cut } = await showWrites(world, ledger, set.written, commit.answer);
    return { ok: true, ...NOTHING_CHANGED, ...toldOf(set), committed: false, files, cut };
  }
  const { writes, meanwhile } = commit;
  const { beganNs } = commit.content;
  const vetted = await vetWrites(world, ledger, { written: set.written, writes, meanwhile, beganNs });
  const [first] = vetted.refusals;
  if (first !== undefined) return combined(first, vetted);
  const shown = await showWrites(world, ledger, vetted.written, commit.answer);
  const several = await worldFor(world, vetted.written.length);
  const plan = planOf(vetted, await withOtherNames(world, ledger, vetted, shown.sightings));
  const outcome = await apply(several, ledger, {
    plans: plan === undefined ? [] : [plan],
    locked: commit.keys,
    command: { change: commit.layer.id, text: clip(commit.command, MAX_COMMAND_CHARS) },
  });
  if (!outcome.ok) return { again: asConflict(outcome.refusal) };
  await rememberResults(world, ledger, vetted);
  const { merged } = vetted;
  const change = outcome.change === undefined ? {} : { change: outcome.change };
  return { ok: true, ...toldOf(set), ...change, committed: true, files: shown.files, cut: shown.cut, merged };
}

function toldOf({ leftOut, droppedBits }: WriteSet): Pick<RunResult, 'leftOut' | 'droppedBits'> {
  return { leftOut: leftOut.map(({ path, kind }) => `${path} (${kind})`), droppedBits };
}

/**
 * Adds a sighting for each created file whose bytes the session has seen under another name, such
 * as a copy. The new file then counts as seen, too.
 */
async function withOtherNames(
  world: World,
  ledger: Ledger,
  { written }: Vetted,
  sightings: ReadonlyMap<string, Sighting>,
): Promise<ReadonlyMap<string, Sighting>> {
  const created = written.flatMap(({ path: { key }, before, after }) =>
    before.kind === 'absent' && after.kind === 'file' ? [{ key, fingerprint: after.fingerprint }] : [],
  );
  const seen = await ledger.seenElsewhere(created, world.now());
  return new Map([...seen.map((each) => [each.key, each] as const), ...sightings]);
}

/**
 * The plan of a command's writes. Each delta expects the present state of a path in the workspace
 * and writes the state that the command left.
 */
function planOf({ written }: Vetted, sightings: ReadonlyMap<string, Sighting>): ChangePlan | undefined {
  const deltas = written
    .map(({ path, before, after, bytes, file, sinceUs }): PlannedDelta => {
      const { key, relative } = path;
      const linked = written.length < LINKED_FILES ? undefined : file;
      return { key, relative, path, before, after, bytes, file: linked, sinceUs, mode: 'asBefore' };
    })
    .sort(inOrder);
  const path = deltas[0]?.path;
  if (path === undefined) return undefined;
  const result = { path: path.given, changed: true, created: false, sizeBytes: 0, notices: [] };
  const tombstones = deltas.flatMap(({ key, after }) => (after.kind === 'absent' ? [key] : []));
  const seen = deltas.flatMap(({ key }) => sightings.get(key) ?? []);
  return { action: 'run', path, deltas, result, sightings: seen, tombstones };
}

/**
 * Remembers the bytes of small files that a command wrote, for later diffs. If the command wrote
 * many files, remembers only those that the session has seen: storing all of them would take as
 * long as the commit.
 */
async function rememberResults(world: World, ledger: Ledger, { written }: Vetted): Promise<void> {
  const small = written.filter(
    ({ after }) => after.kind === 'file' && after.fingerprint.size <= MAX_REMEMBERED_BYTES,
  );
  const isFew = written.length < LINKED_FILES;
  const known = isFew ? undefined : await ledger.recallMany(small.map(({ path }) => path.key));
  for (const { path, after, bytes } of small) {
    if (after.kind === 'file' && bytes !== undefined && known?.has(path.key) !== false)
      world.baselines.remember(after.fingerprint, bytes());
  }
}

/** Combines the refusals into one that names every refused file. */
function combined(first: Refusal, { refusals, unchecked }: RefusedWrites): Refused {
  if (refusals.length === 1) return refused(first);
  const rest = unchecked === 0 ? {} : { unchecked };
  return refused({ ...first, detail: { ...first.detail, refusals, ...rest } });
}

function asConflict({ path, detail }: Refusal): Refusal {
  return {
    code: 'COMMAND_CONFLICT',
    action: 'commit',
    path,
    next: 'read_again',
    ...(detail ? { detail } : {}),
  };
}

function busy(): Refusal {
  return { code: 'BUSY', action: 'run', path: '', next: 'retry_later' };
}

/** An answer names at most this many paths and counts the rest. */
const MAX_NAMED = 100;

/**
 * The part of an answer that shows a command's writes, and the lines that count as seen after it.
 */
interface ShownWrites {
  readonly files: readonly CommandFile[];
  readonly cut: number;
  /** The lines that count as seen, by file key. */
  readonly sightings: ReadonlyMap<string, Sighting>;
}

/**
 * Lists the changed paths. Adds the diff of a file if the answer's text names the file and the
 * whole diff fits into the limits of an answer.
 */
async function showWrites(
  world: World,
  ledger: Ledger,
  written: readonly Written[],
  answer: 'shown' | 'silent',
): Promise<ShownWrites> {
  const named = namedWrites(written);
  const files: CommandFile[] = [];
  const sightings = new Map<string, Sighting>();
  const { secrets } = world.policy;
  let room = { lines: LIMITS.maxDiffLines, chars: MAX_QUOTED_CHARS };
  for (const each of named.slice(0, MAX_NAMED)) {
    const file = { ...fileOf(each), path: shownNameOf(world, each.path) };
    const texts = await textsOf(world, each);
    const diff =
      texts &&
      maskedDiff(texts.before, texts.after, { maxLines: room.lines, secrets, path: each.path.relative });
    if (texts === undefined || diff === undefined) {
      files.push(file);
      continue;
    }
    const counted = { ...file, ...countsOf(diff) };
    const isInText = files.length < MAX_PATHS_IN_TEXT;
    const fits = isInText && !diff.truncated && diff.text !== '' && diff.text.length <= room.chars;
    files.push(fits ? { ...counted, diff: diff.text } : counted);
    if (!fits) continue;
    room = { lines: room.lines - diff.text.split('\n').length, chars: room.chars - diff.text.length };
    const shown = answer === 'shown' ? diff.shownAfter : undefined;
    const sighting = await creditOf(world, ledger, { written: each, diff, shown, text: texts.after });
    if (sighting !== undefined) sightings.set(each.path.key, sighting);
  }
  return { files, cut: named.length - files.length, sightings };
}

function fileOf({ path, before, after }: Written): CommandFile {
  const thing = after.kind === 'absent' ? before : after;
  const kind = thing.kind === 'absent' ? 'file' : thing.kind;
  return { path: path.relative, did: didTo(before, after), kind };
}

function didTo(before: Written['before'], after: Written['after']): CommandFile['did'] {
  if (before.kind === 'absent') return 'created';
  if (after.kind === 'absent') return 'deleted';
  if (before.kind === 'directory' && after.kind === 'directory') return 'permissions';
  if (before.kind !== 'file' || after.kind !== 'file') return 'changed';
  return sameFingerprint(before.fingerprint, after.fingerprint) ? 'permissions' : 'changed';
}

/** The contents before and after the command as text, or undefined if one of them is not text. */
async function textsOf(
  world: World,
  written: Written,
): Promise<{ readonly before: string; readonly after: string } | undefined> {
  const { before: was, after: is } = written;
  if (![was.kind, is.kind].every((kind) => kind === 'file' || kind === 'absent')) return undefined;
  const before = was.kind === 'absent' ? '' : plainText(await bytesBefore(world, written));
  const after = is.kind === 'absent' ? '' : plainText(bytesAfter(written));
  return before === undefined || after === undefined ? undefined : { before, after };
}

function countsOf({ diff }: UnifiedDiff): { readonly added: number; readonly removed: number } {
  const sum = (lines: readonly number[]): number => lines.reduce((total, count) => total + count, 0);
  return {
    added: sum(diff.hunks.map(({ afterStart, afterEnd }) => afterEnd - afterStart)),
    removed: sum(diff.hunks.map(({ beforeStart, beforeEnd }) => beforeEnd - beforeStart)),
  };
}

/**
 * The lines of the new file that count as seen: lines seen before, and lines in the diff. Undefined
 * if the session has seen none. Also undefined if another program changed the file between the
 * session's last view and the command. The old sighting then stays, so that this change is reported
 * later.
 */
async function creditOf(
  world: World,
  ledger: Ledger,
  {
    written,
    diff,
    shown,
    text,
  }: { written: Written; diff: UnifiedDiff; shown: readonly LineRange[] | undefined; text: string },
): Promise<Sighting | undefined> {
  const { after, before, path } = written;
  if (after.kind !== 'file') return undefined;
  const seen = await ledger.recall(path.key);
  const isKnown = seen?.fingerprint !== undefined && seen.tombstone !== true;
  const isCurrent =
    isKnown &&
    before.kind === 'file' &&
    sameFingerprint(seen.fingerprint ?? before.fingerprint, before.fingerprint);
  if ((isKnown || shown === undefined) && !isCurrent) return undefined;
  const still: readonly LineRange[] = isCurrent
    ? carryRanges(rangesOf(seen.coverage, seen.totalLines ?? 0), diff.diff.hunks)
    : [];
  const totalLines = lineCount(text);
  // Until the answer shows the diff, only the lines count that were seen before.
  const untold = still.length === 0 ? undefined : { coverage: linesCoverage(still, totalLines) };
  if (shown !== undefined) ledger.tells(path.key, untold);
  return {
    key: path.key,
    fingerprint: after.fingerprint,
    stamp: undefined,
    racy: true,
    coverage: linesCoverage([...still, ...(shown ?? [])], totalLines),
    totalLines,
    flags: isCurrent ? seen.flags : NO_FLAGS,
    how: 'cure',
    atMs: world.now(),
  };
}
