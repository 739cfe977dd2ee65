import { basename, relative } from 'node:path';
import type { ShellLine } from '../../dialect/calls/shell/shell-line.ts';
import { modeOf, stampOf } from '../../disk/read.ts';
import { type Delta, sameState } from '../../model/delta.ts';
import type {
  HostWrite,
  LayerExpectation,
  MovableFolder,
  PendingChange,
  TreeSnapshot,
} from '../../model/entry.ts';
import { inodeOf, sameStamp } from '../../model/fingerprint.ts';
import { isWithin } from '../../model/path.ts';
import { defined } from '../../model/record.ts';
import type { Notice } from '../../model/results.ts';
import type { Harm, OutsidePaths } from '../../model/session.ts';
import type { Sighting } from '../../model/sighting.ts';
import { gitFolderOf, worktreesAround } from '../../process/git.ts';
import { dropSnapshot } from '../../process/git-snapshot.ts';
import { lostUpdate } from '../command/lost-update.ts';
import { fileState, readableAt } from '../found.ts';
import { syncImages } from '../old-bytes.ts';
import type { ShownScene } from '../shown.ts';
import type { World } from '../world.ts';
import { Keeping, keepBefore, keepLoose, keepOutside, keepOwnFiles } from './keep.ts';
import type { EndState } from './known-after.ts';
import { changesOfLine, type LinePlace } from './line-changes.ts';
import { outsideOfLine } from './outside.ts';

type AnnouncedCommand = NonNullable<NonNullable<PendingChange['host']>['command']>;

/**
 * Maximum number of files that the session has seen and whose bytes are stored before a command
 * runs. The most recently seen files take precedence.
 */
const MAX_SEEN = 2000;
/** Time limits for git, in milliseconds. */
export const SNAPSHOT_MS = { before: 5_000, after: 60_000 };

/**
 * The stored state of the files before a host's shell command. It is used only if the command runs
 * directly in the workspace, not on a layer (a private copy-on-write view).
 */
interface BytesBefore {
  /** The files as they are before the command. In each delta, `after` equals `before` until the command has ended. */
  readonly deltas: readonly Delta[];
  readonly writes: readonly HostWrite[];
  readonly command: AnnouncedCommand;
}

/** A command that is about to run. `writes` and `moves`: see `CommandOptions`. */
interface ComingCommand {
  /** The id of the command's change. */
  readonly change: string;
  readonly text: string;
  readonly harm: Harm;
  readonly writes: readonly string[];
  readonly moves: readonly string[];
  readonly outside?: OutsidePaths | undefined;
  readonly layer: LayerExpectation;
}

/**
 * Stores the bytes that a command may destroy: those of every file that the session has seen, and
 * of the files that the command line says it writes or moves. Unless the command is expected to run
 * on a layer, also takes git snapshots of the roots and stores the files that git lacks, within a
 * time limit. In a fleet, the bytes stay on this machine.
 */
export async function keepBytesBefore(
  scene: ShownScene,
  { change, text, harm, writes: paths, moves, outside, layer }: ComingCommand,
): Promise<BytesBefore> {
  const { world } = scene;
  if (harm === 'nothing') return { deltas: [], writes: [], command: { snapshots: [], layer } };
  const keeping = new Keeping(world);
  const { deltas } = keeping;
  const seen = await seenFiles(scene);
  for (const delta of seen) deltas.set(delta.key, delta);
  for (const path of paths) {
    const delta = await deltaAt(world, path);
    if (delta !== undefined && !deltas.has(delta.key)) deltas.set(delta.key, delta);
  }
  await keepBefore(world, [...deltas.values()], 'here');
  await keepOutside(world, keeping, outside);
  const moving = moves.flatMap((path) => movableAt(world, path) ?? []);
  for (const { key, isFolder } of moving)
    if (!isFolder && !world.workspace.isReadOnly(key)) await keeping.add(key, keeping.left);
  const movable = moving.flatMap(({ key, inode }) => (deltas.has(key) ? [inode] : []));
  const folders = moving.flatMap(({ key, relative, inode, isFolder }) =>
    isFolder ? [{ key, relative, inode }] : [],
  );
  const roots = layer === 'expected' ? [] : world.workspace.roots;
  const worktrees = threatenedWorktrees(world, { text, roots });
  const { snapshots, trees, uncovered } = await takeSnapshots(world, keeping, {
    change,
    harm,
    roots,
    worktrees,
  });
  const command = {
    snapshots,
    trees,
    layer,
    ...(uncovered === undefined ? {} : { uncovered }),
    ...(movable.length === 0 ? {} : { movable }),
    ...(folders.length === 0 ? {} : { folders }),
  };
  const writes = seen.map(({ key }) => ({ key, text: 'command' as const }));
  return { deltas: [...deltas.values()], writes, command };
}

/** The git snapshots of the roots, and the trees that are kept completely. */
type TreesBefore = Required<Pick<AnnouncedCommand, 'snapshots' | 'trees'>> &
  Pick<AnnouncedCommand, 'uncovered'>;

interface TreesToKeep {
  readonly change: string;
  readonly harm: Harm;
  /** The roots that no layer covers. */
  readonly roots: readonly string[];
  readonly worktrees: readonly string[];
}

/** Takes a git snapshot of each root and worktree, and keeps the files whose bytes no commit has. */
async function takeSnapshots(
  world: World,
  keeping: Keeping,
  { change, roots, worktrees, harm }: TreesToKeep,
): Promise<TreesBefore> {
  const signal = AbortSignal.timeout(SNAPSHOT_MS.before);
  const snapshots: TreeSnapshot[] = [];
  const ignored: { root: string; path: string }[] = [];
  let reason = roots.length === 0 ? 'the command was expected to run on a layer' : undefined;
  for (const [index, root] of [...roots, ...worktrees].entries()) {
    const taken = await world.processes.snapshot(root, `${change}-${index}`, signal);
    if ('unavailable' in taken) {
      reason = taken.unavailable;
      continue;
    }
    const { tree } = taken;
    ignored.push(...taken.ignored.map((path) => ({ root, path })));
    const excess = await keepLoose(keeping, tree, signal);
    reason = excess ?? reason;
    if (excess !== undefined) dropSnapshot(tree);
    else snapshots.push(index < roots.length ? tree : { ...tree, ...defined({ shared: gitFolderOf(root) }) });
  }
  const nested = snapshots.flatMap(({ root, uncovered }) =>
    uncovered.map((path) => `${root}/${path.replace(/\/$/, '')}`),
  );
  const kept = await keepOwnFiles(world, keeping, { harm, roots, worktrees, nested, ignored });
  await syncImages(world);
  const uncovered = reason ?? kept.uncovered;
  return { snapshots, trees: kept.trees, ...defined({ uncovered }) };
}

/** Paths beyond the layer, as they are before a command that may change them. */
export interface BeyondLayer extends Pick<AnnouncedCommand, 'snapshots'> {
  readonly deltas: readonly Delta[];
}

/** A command that is about to run on a layer. */
interface CommandOnLayer {
  readonly line: ShellLine;
  readonly place: LinePlace;
  /** `outside`: the command may change files outside the workspace. */
  readonly reaches: 'outside' | 'workspace';
}

/** Keeps what a command on a layer may destroy in other worktrees and outside the workspace. */
export async function keepBeyondLayer(
  world: World,
  change: string,
  { line, place, reaches }: CommandOnLayer,
): Promise<BeyondLayer> {
  const harm = line.harm();
  if (harm === 'nothing') return { snapshots: [], deltas: [] };
  const keeping = new Keeping(world);
  if (reaches === 'outside' && world.policy.hooks.outside === 'destroy') {
    const changes = await changesOfLine(world, line, place);
    await keepOutside(world, keeping, await outsideOfLine(world, line, { changes, place }));
  }
  const worktrees = threatenedWorktrees(world, { text: line.text, roots: [] });
  const { snapshots } = await takeSnapshots(world, keeping, { change, harm, roots: [], worktrees });
  return { snapshots, deltas: [...keeping.deltas.values()] };
}

/**
 * The other worktrees of the repository in which a command may remove files, as far as its text
 * shows: it names the worktree, or a folder around it. `roots`: the roots that no layer covers.
 */
function threatenedWorktrees(
  { workspace }: World,
  { text, roots }: { readonly text: string; readonly roots: readonly string[] },
): readonly string[] {
  const tops = [...new Set(workspace.roots.flatMap(worktreesAround))];
  const others = tops.filter(
    (top) =>
      !workspace.roots.includes(top) &&
      (roots.length > 0 || workspace.roots.every((root) => !isWithin(top, root))),
  );
  return others.filter((top) => {
    const names = workspace.roots
      .flatMap((root) => relative(root, top).split('/'))
      .filter((name) => name !== '..');
    const isNamed = [...names, basename(top)].some((name) => text.includes(name));
    return (isNamed || SWEEPS.test(text)) && workspace.adopt(top) !== 'missing';
  });
}

/** Matches lines that may remove worktrees without naming them. */
const SWEEPS = /\bworktree\s+(?:prune|list)\b|(^|\s)\.{1,2}\/?(\*|\s|$)/;

async function seenFiles({ world, knowledge }: ShownScene): Promise<readonly Delta[]> {
  const sightings = (await knowledge.all())
    .filter(
      ({ how, tombstone, fingerprint }) =>
        how !== 'listing' && tombstone !== true && fingerprint !== undefined,
    )
    .sort((one, other) => other.atMs - one.atMs)
    .slice(0, MAX_SEEN);
  const deltas: Delta[] = [];
  for (const sighting of sightings) {
    const delta = await seenFile(world, sighting);
    if (delta !== undefined) deltas.push(delta);
  }
  return deltas;
}

/**
 * The present state of a seen file. Does not read the file if its stamp is still the one recorded
 * when it was seen.
 */
async function seenFile(world: World, sighting: Sighting): Promise<Delta | undefined> {
  const found = world.workspace.resolve(sighting.key, 'status', 'parents');
  if (!found.ok || !found.exists || !found.stats.isFile()) return undefined;
  const { key, relative } = found.path;
  const { stamp, racy, fingerprint } = sighting;
  const same = stamp !== undefined && !racy && sameStamp(stamp, stampOf(found.stats));
  const before =
    same && fingerprint !== undefined
      ? fileState(fingerprint, modeOf(found.stats), 'kept')
      : (await readableAt(world, key))?.side;
  return before === undefined ? undefined : { key, relative, before, after: before };
}

/**
 * A file or folder that a command may move, with its device and inode number. Undefined if nothing
 * is there, or if it is protected.
 */
function movableAt(
  { workspace }: World,
  path: string,
): (MovableFolder & { readonly isFolder: boolean }) | undefined {
  const found = workspace.resolve(path, 'undo', 'parents');
  if (!found.ok || !found.exists) return undefined;
  const { key, relative } = found.path;
  return { key, relative, inode: inodeOf(found.stats), isFolder: found.stats.isDirectory() };
}

/** The present state of a path, or undefined if it is protected or cannot be read. */
export async function deltaAt(world: World, path: string): Promise<Delta | undefined> {
  const resolved = world.workspace.resolve(path, 'undo');
  if (!resolved.ok) return undefined;
  const { key, relative } = resolved.path;
  const found = await readableAt(world, key);
  return found === undefined ? undefined : { key, relative, before: found.side, after: found.side };
}

/**
 * Removes the git snapshots taken before a command. Called after the command's result is recorded.
 */
export function dropSnapshots({ host }: PendingChange): void {
  for (const snapshot of host?.command?.snapshots ?? []) dropSnapshot(snapshot);
}

/** Notices about other writers' changes that a command has lost by overwriting the files. */
export async function lostChangeNotices(
  { world, knowledge }: ShownScene,
  change: string,
  endStates: readonly EndState[],
): Promise<readonly Notice[]> {
  const notices: Notice[] = [];
  for (const { delta, now } of endStates) {
    if (sameState(delta.before, now.side)) continue;
    const { before, key, relative } = delta;
    const lost = await lostUpdate(world, knowledge, {
      path: { key, relative },
      before,
      after: now.side,
      beforeBytes: async () => (before.kind === 'file' ? world.images.read(before.fingerprint) : undefined),
      afterBytes: () => now.snapshot?.bytes,
    });
    if (lost === undefined) continue;
    notices.push({ kind: 'lost-change', path: relative, change, diff: lost.detail?.diff ?? '' });
  }
  return notices;
}
