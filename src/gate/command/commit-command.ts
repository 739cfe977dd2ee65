import type { ClientCall } from '../../model/call.ts';
import { type Delta, inOrder } from '../../model/delta.ts';
import type { CommandWrites } from '../../model/policy.ts';
import type { RunResult } from '../../model/results.ts';
import type { Sighting } from '../../model/sighting.ts';
import { type Outcome, passOn, type Refusal, type Refused, refused } from '../../model/verdict.ts';
import { isGitIndex, stagedContent } from '../../process/git-index.ts';
import type { Layer } from '../../process/layer.ts';
import type { AttributeReader } from '../../process/layer-entries.ts';
import { clip } from '../../report/bounded.ts';
import type { Knowledge } from '../../views/knowledge.ts';
import { apply, worldFor } from '../apply.ts';
import { lockKeys } from '../keys.ts';
import { noteLosses } from '../losses.ts';
import type { ChangePlan } from '../plan.ts';
import { entryHead, type World } from '../world.ts';
import { type LayerContent, layerKeys, nameOf, readLayer, restoreLayer } from './layer-content.ts';
import { liveBytes } from './lost-update.ts';
import { showWrites } from './show-writes.ts';
import { type RefusedWrites, type Vetted, vetWrites } from './vet-writes.ts';
import { type LayerDelta, readWriteSet, type WriteSet } from './write-set.ts';

/**
 * Maximum number of tries to commit. If a program changes a file during a try, the next try
 * compares the layer with the workspace again. After the last try, the commit is refused.
 */
const MAX_TRIES = 3;
const MAX_COMMAND_CHARS = 1000;
const MAX_REMEMBERED_BYTES = 64 << 10;
/** From this many files on, a commit remembers only the bytes of those that the session has seen. */
const MANY_FILES = 200;

/**
 * A layer (the private copy-on-write view on which a command ran) whose command has ended, and how
 * to commit it.
 */
export interface LayerCommit {
  readonly layer: Layer;
  readonly attributes: AttributeReader;
  /** The command line for the journal, with its secrets masked. */
  readonly command: string;
  readonly writes: CommandWrites;
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
  /** The command's changes in other worktrees, which its layer did not cover. */
  readonly made?: readonly Delta[];
}

/** The result of a commit, as fields of `RunResult`. */
export type CommittedCommand = Pick<
  RunResult,
  'change' | 'committed' | 'files' | 'cut' | 'merged' | 'leftOut' | 'droppedBits' | 'notices'
>;

/**
 * Commits all of a command's writes or none, as one change that one undo takes back. If the policy
 * discards writes, only reports them.
 */
export async function commitCommand(
  world: World,
  knowledge: Knowledge,
  commit: LayerCommit,
): Promise<Outcome<CommittedCommand>> {
  const read = readLayer(commit.layer, commit.attributes);
  let isDone = false;
  try {
    const outcome = await commitContent(world, knowledge.during(commit.times), {
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
  knowledge: Knowledge,
  commit: LayerCommit & { readonly content: LayerContent },
): Promise<Outcome<CommittedCommand>> {
  const { content, made = [] } = commit;
  if (content.folders.every(({ entries }) => entries.length === 0))
    return made.length === 0 ? { ok: true, ...NOTHING_CHANGED } : recordMade(world, knowledge, commit);
  const keys = layerKeys(world, content);
  let outcome: Outcome<CommittedCommand> = refused(busy());
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const release = await lockKeys(world, keys);
    if (release === undefined) return refused(busy());
    try {
      const tried = await commitLocked(world, knowledge, { ...commit, keys });
      if (!('again' in tried)) return tried;
      outcome = refused(tried.again);
    } finally {
      release();
    }
  }
  return outcome;
}

/** Records a command that changed nothing on its layer, but files in other worktrees. */
async function recordMade(
  world: World,
  knowledge: Knowledge,
  { layer, command, made = [] }: LayerCommit,
): Promise<Outcome<CommittedCommand>> {
  const change = {
    ...entryHead(world, knowledge),
    change: layer.id,
    action: 'run',
    deltas: made,
    path: made[0]?.relative ?? '.',
    text: clip(command, MAX_COMMAND_CHARS),
  } as const;
  await world.store.record({ entries: [{ kind: 'change', ...change }] });
  const notices = await noteLosses(world, knowledge, change);
  return { ok: true, ...NOTHING_CHANGED, change: layer.id, notices };
}

/**
 * A file system that is mounted inside a root has its own folder in the layer. Assigns the entries
 * of that folder to the root, with paths relative to the root.
 */
function namedInRoots({ workspace }: World, { folders, ...rest }: LayerContent): LayerContent {
  const named = folders.map((folder) => {
    if ([...workspace.roots, ...workspace.extraRoots].includes(folder.root)) return folder;
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
  notices: [],
};

async function commitLocked(
  world: World,
  knowledge: Knowledge,
  commit: LayerCommit & { readonly content: LayerContent; readonly keys: readonly string[] },
): Promise<Outcome<CommittedCommand> | { readonly again: Refusal }> {
  const read = await readWriteSet(world, commit.content);
  if (!read.ok) return read;
  const set = { ...read.set, written: await withoutRenewedIndexes(world, read.set.written) };
  if (commit.writes === 'discard') {
    const { files, cut } = await showWrites(world, knowledge, set.written, commit.answer);
    return { ok: true, ...NOTHING_CHANGED, ...toldOf(set), committed: false, files, cut };
  }
  const { writes, meanwhile, made = [] } = commit;
  const { beganNs } = commit.content;
  const vetted = await vetWrites(world, knowledge, { written: set.written, writes, meanwhile, beganNs });
  const [first] = vetted.refusals;
  if (first !== undefined) return combined(first, vetted);
  if (vetted.written.length === 0 && made.length > 0) return recordMade(world, knowledge, commit);
  const shown = await showWrites(world, knowledge, vetted.written, commit.answer);
  const several = await worldFor(world, vetted.written.length);
  const plan = planOf(vetted, await withOtherNames(world, knowledge, vetted, shown.sightings));
  const outcome = await apply(several, knowledge, {
    plans: plan === undefined ? [] : [plan],
    locked: commit.keys,
    command: { change: commit.layer.id, text: clip(commit.command, MAX_COMMAND_CHARS), made },
  });
  if (!outcome.ok) return { again: asConflict(outcome.refusal) };
  await rememberResults(world, knowledge, vetted);
  const { merged } = vetted;
  const told = { ...toldOf(set), committed: true, files: shown.files, cut: shown.cut, merged };
  const { change } = outcome;
  if (change === undefined) return { ok: true, ...told, notices: [] };
  const deltas = [
    ...vetted.written.map(({ key, relative, before, after }) => ({ key, relative, before, after })),
    ...made,
  ];
  const root = world.workspace.roots[0] ?? '';
  const notices = await noteLosses(world, knowledge, { deltas, change, text: commit.command, root });
  return { ok: true, ...told, change, notices };
}

/**
 * The writes without git indexes that stage the same content as in the workspace. Only stat fields
 * of files differ, which `git status` renews. They are not committed, because a change of them
 * would stand in the way of undoing an earlier change of the index.
 */
async function withoutRenewedIndexes(
  world: World,
  written: readonly LayerDelta[],
): Promise<readonly LayerDelta[]> {
  const renewed = new Set<LayerDelta>();
  for (const each of written) if (await isRenewedIndex(world, each)) renewed.add(each);
  return renewed.size === 0 ? written : written.filter((each) => !renewed.has(each));
}

async function isRenewedIndex(world: World, { path, after, bytes }: LayerDelta): Promise<boolean> {
  if (!isGitIndex(nameOf(world, path)) || after.kind !== 'file' || bytes === undefined) return false;
  const live = await liveBytes(world, path);
  return live !== undefined && stagedContent(live) === stagedContent(bytes());
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
  knowledge: Knowledge,
  { written }: Vetted,
  sightings: ReadonlyMap<string, Sighting>,
): Promise<ReadonlyMap<string, Sighting>> {
  const created = written.flatMap(({ key, before, after }) =>
    before.kind === 'absent' && after.kind === 'file' ? [{ key, fingerprint: after.fingerprint }] : [],
  );
  const seen = await knowledge.seenElsewhere(created, world.now());
  return new Map([...seen.map((each) => [each.key, each] as const), ...sightings]);
}

/**
 * The plan of a command's writes. Each delta expects the present state of a path in the workspace
 * and writes the state that the command left.
 */
function planOf({ written }: Vetted, sightings: ReadonlyMap<string, Sighting>): ChangePlan | undefined {
  const deltas = written.toSorted(inOrder);
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
async function rememberResults(world: World, knowledge: Knowledge, { written }: Vetted): Promise<void> {
  const small = written.filter(
    ({ after }) => after.kind === 'file' && after.fingerprint.size <= MAX_REMEMBERED_BYTES,
  );
  const isFew = written.length < MANY_FILES;
  const known = isFew ? undefined : await knowledge.recallMany(small.map(({ path }) => path.key));
  for (const { path, after, bytes } of small) {
    if (after.kind === 'file' && bytes !== undefined && known?.has(path.key) !== false)
      world.baselines.remember(after.fingerprint, bytes());
  }
}

/** Combines the refusals into one that names every refused file. */
function combined(first: Refusal, { refusals, unchecked }: RefusedWrites): Refused {
  if (refusals.length === 1) return refused(first);
  const rest = unchecked === 0 ? {} : { unchecked };
  return refused(passOn(first, { refusals, ...rest }));
}

function asConflict({ path, detail = {} }: Refusal): Refusal {
  return { code: 'COMMAND_CONFLICT', action: 'commit', path, next: 'read_again', detail };
}

function busy(): Refusal {
  return { code: 'BUSY', action: 'run', path: '', next: 'retry_later' };
}
