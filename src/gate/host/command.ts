import { basename, relative } from 'node:path';
import type { ShellLine } from '../../dialect/calls/shell/shell-line.ts';
import { modeOf, stampOf } from '../../disk/read.ts';
import {
  type AnnouncedCommand,
  type Effect,
  type HostWrite,
  type LayerExpectation,
  type PendingChange,
  sameState,
  type TreeSnapshot,
} from '../../model/entry.ts';
import { inodeOf, sameStamp } from '../../model/fingerprint.ts';
import { isWithin } from '../../model/path.ts';
import type { Notice } from '../../model/results.ts';
import type { Harm, OutsidePaths } from '../../model/session.ts';
import type { Sighting } from '../../model/sighting.ts';
import { gitFolderOf, type Unavailable, worktreesAround } from '../../process/git.ts';
import { dropSnapshot } from '../../process/git-snapshot.ts';
import { lostUpdate } from '../command/lost-update.ts';
import { fileState, readableAt } from '../found.ts';
import type { ShownScene } from '../shown.ts';
import type { World } from '../world.ts';
import { keepOutside, keepOwnFiles } from './keep.ts';
import type { EndState } from './known-after.ts';
import { changesOfLine, type LinePlace } from './line-changes.ts';
import { outsideOfLine } from './outside.ts';
import { keepBefore } from './shown.ts';

/**
 * Maximum number of files that the session has seen and whose bytes are stored before a command
 * runs. The most recently seen files take precedence.
 */
const MAX_SEEN = 2000;
/**
 * Maximum number of files without a copy in git whose bytes are stored before a command runs. A
 * root with more gets no git snapshot.
 */
const MAX_LOOSE = 2000;
const MAX_LOOSE_BYTES = 64 << 20;
/** Time limits for git, in milliseconds. */
export const SNAPSHOT_MS = { before: 5_000, after: 60_000 };

/**
 * The stored state of the files before a host's shell command. It is used only if the command runs
 * directly in the workspace, not on a layer (a private copy-on-write view).
 */
export interface BytesBefore {
  /** The files as they are before the command. In each effect, `after` equals `before` until the command has ended. */
  readonly effects: readonly Effect[];
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
  if (harm === 'nothing') return { effects: [], writes: [], command: { snapshots: [], layer } };
  const effects = new Map<string, Effect>();
  const seen = await seenFiles(scene);
  for (const effect of seen) effects.set(effect.key, effect);
  for (const path of paths) {
    const effect = await effectAt(world, path);
    if (effect !== undefined && !effects.has(effect.key)) effects.set(effect.key, effect);
  }
  for (const effect of await keepOutside(world, outside)) effects.set(effect.key, effect);
  for (const effect of await movableFiles(world, moves, effects)) effects.set(effect.key, effect);
  const moving = moves.flatMap((path) => sizeAt(world, path) ?? []);
  const movable = moving.flatMap(({ key, inode }) =>
    inode === undefined || !effects.has(key) ? [] : [inode],
  );
  const folders = moving.flatMap(({ key, relative, inode, isFolder }) =>
    inode === undefined || isFolder !== true ? [] : [{ key, relative, inode }],
  );
  await keepBefore(world, [...effects.values()], 'here');
  const roots = layer === 'expected' ? [] : world.workspace.roots;
  const worktrees = threatenedWorktrees(world, { text, roots });
  const { snapshots, trees, uncovered } = await takeSnapshots(world, {
    change,
    harm,
    effects,
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
  return { effects: [...effects.values()], writes, command };
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
  /** The effects so far; those of the kept files are added. */
  readonly effects: Map<string, Effect>;
}

/**
 * Takes a git snapshot of each root and worktree. Adds to `effects` the files whose bytes no commit
 * has, and keeps their bytes.
 */
async function takeSnapshots(world: World, trees: TreesToKeep): Promise<TreesBefore> {
  const { change, roots, worktrees, effects, harm } = trees;
  const { processes } = world;
  const signal = AbortSignal.timeout(SNAPSHOT_MS.before);
  const snapshots: TreeSnapshot[] = [];
  let reason = roots.length === 0 ? 'the command was expected to run on a layer' : undefined;
  for (const [index, root] of [...roots, ...worktrees].entries()) {
    const name = `${change}-${index}`;
    const tree = await processes.snapshot(root, name, signal);
    const shared = index < roots.length ? undefined : gitFolderOf(root);
    const taken = 'unavailable' in tree || shared === undefined ? tree : { ...tree, shared };
    const covered = await coveredBy(world, taken, { effects, signal });
    if ('unavailable' in covered) reason = covered.unavailable;
    else snapshots.push(covered);
  }
  const nested = snapshots.flatMap(({ root, uncovered }) =>
    uncovered.map((path) => `${root}/${path.replace(/\/$/, '')}`),
  );
  const known = new Set(effects.keys());
  const kept = await keepOwnFiles(world, { harm, roots, worktrees, nested, known, signal });
  for (const effect of kept.effects) effects.set(effect.key, effect);
  const uncovered = reason ?? kept.uncovered;
  return { snapshots, trees: kept.trees, ...(uncovered === undefined ? {} : { uncovered }) };
}

/** Keeps the files of a snapshot that no commit has. Drops the snapshot if that is not possible. */
async function coveredBy(
  world: World,
  taken: TreeSnapshot | Unavailable,
  keeping: { readonly effects: Map<string, Effect>; readonly signal: AbortSignal },
): Promise<TreeSnapshot | Unavailable> {
  if ('unavailable' in taken) return taken;
  const covered = await looseFiles(world, taken, keeping);
  if ('unavailable' in covered) dropSnapshot(taken);
  return 'unavailable' in covered ? covered : taken;
}

/** Paths beyond the layer, as they are before a command that may change them. */
export interface BeyondLayer extends Pick<AnnouncedCommand, 'snapshots'> {
  readonly effects: readonly Effect[];
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
  if (harm === 'nothing') return { snapshots: [], effects: [] };
  const effects = new Map<string, Effect>();
  if (reaches === 'outside' && world.policy.hooks.outside === 'destroy') {
    const paths = await outsideOfLine(world, line, {
      changes: await changesOfLine(world, line, place),
      place,
    });
    for (const effect of await keepOutside(world, paths)) effects.set(effect.key, effect);
  }
  const worktrees = threatenedWorktrees(world, { text: line.text, roots: [] });
  const { snapshots } =
    worktrees.length === 0
      ? { snapshots: [] }
      : await takeSnapshots(world, { change, harm, roots: [], worktrees, effects });
  return { snapshots, effects: [...effects.values()] };
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
const SWEEPS = /\bworktree\s+prune\b|(^|\s)\.{1,2}\/?(\*|\s|$)/;

async function seenFiles({ world, knowledge }: ShownScene): Promise<readonly Effect[]> {
  const sightings = (await knowledge.all())
    .filter(
      ({ how, tombstone, fingerprint }) =>
        how !== 'listing' && tombstone !== true && fingerprint !== undefined,
    )
    .sort((one, other) => other.atMs - one.atMs)
    .slice(0, MAX_SEEN);
  const effects: Effect[] = [];
  for (const sighting of sightings) {
    const effect = await seenFile(world, sighting);
    if (effect !== undefined) effects.push(effect);
  }
  return effects;
}

/**
 * The files and links that a command may move. Leaves out those in `known`, and files that together
 * are too large to store before every command. Also leaves out folders: they may contain any number
 * of files.
 */
async function movableFiles(
  world: World,
  paths: readonly string[],
  known: ReadonlyMap<string, Effect>,
): Promise<readonly Effect[]> {
  const found: Effect[] = [];
  let bytes = 0;
  for (const path of paths) {
    const { key, size = 0 } = sizeAt(world, path) ?? {};
    if (key === undefined || known.has(key) || world.workspace.isReadOnly(key)) continue;
    if (bytes + size > MAX_LOOSE_BYTES) continue;
    const effect = await effectAt(world, key, 'parents');
    if (effect?.before.kind !== 'file' && effect?.before.kind !== 'link') continue;
    bytes += size;
    found.push(effect);
  }
  return found;
}

/**
 * The present state of a seen file. Does not read the file if its stamp is still the one recorded
 * when it was seen.
 */
async function seenFile(world: World, sighting: Sighting): Promise<Effect | undefined> {
  const outcome = world.workspace.locate(sighting.key, 'status', 'parents');
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  const { key, relative } = located.place.path;
  try {
    if (!located.exists || !located.stats.isFile()) return undefined;
    const { stamp, racy, fingerprint } = sighting;
    const same = stamp !== undefined && !racy && sameStamp(stamp, stampOf(located.stats));
    const before =
      same && fingerprint !== undefined
        ? fileState(fingerprint, modeOf(located.stats), 'kept')
        : (await readableAt(world, key))?.side;
    return before === undefined ? undefined : { key, relative, before, after: before };
  } finally {
    located.place.dir.close();
  }
}

/**
 * Adds to `effects` the files whose bytes git does not store, and keeps these bytes. Returns a
 * reason if the files exceed a limit of number, size or time. Files that git has converted are kept
 * as far as the limits allow: after the command, those that it changed are named.
 */
async function looseFiles(
  world: World,
  { root, loose, converted }: TreeSnapshot,
  { effects, signal }: { readonly effects: Map<string, Effect>; readonly signal: AbortSignal },
): Promise<{ readonly ok: true } | { readonly unavailable: string }> {
  if (loose.length > MAX_LOOSE) return { unavailable: `more than ${MAX_LOOSE} files are not committed` };
  let bytes = 0;
  const found: Effect[] = [];
  const optional = new Set(converted.slice(0, MAX_LOOSE - loose.length));
  for (const path of [...loose, ...optional]) {
    if (signal.aborted) return { unavailable: 'the time limit was reached' };
    const { key, size } = sizeAt(world, `${root}/${path}`) ?? {};
    if (key === undefined || size === undefined || effects.has(key)) continue;
    // Check the size before the file is read: a file of gigabytes would delay every command by
    // seconds.
    if (bytes + size > MAX_LOOSE_BYTES) {
      if (optional.has(path)) continue;
      return { unavailable: 'the files that are not committed are too large' };
    }
    bytes += size;
    const effect = await effectAt(world, key, 'parents');
    if (effect === undefined) continue;
    found.push(effect);
    effects.set(effect.key, effect);
  }
  await keepBefore(world, found, 'here');
  return { ok: true };
}

interface SizeAt extends Pick<Effect, 'key' | 'relative'> {
  /** The size of a file, and 0 for anything else. */
  readonly size: number;
  /** Device and inode number. Undefined if nothing exists at the path. */
  readonly inode?: string;
  readonly isFolder?: boolean;
}

/** The size of a file, and what identifies it. Undefined if the path is protected. */
function sizeAt({ workspace }: World, path: string): SizeAt | undefined {
  const outcome = workspace.locate(path, 'undo', 'parents');
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  located.place.dir.close();
  const { key, relative } = located.place.path;
  if (!located.exists) return { key, relative, size: 0 };
  const { stats } = located;
  const size = stats.isFile() ? Number(stats.size) : 0;
  return { key, relative, size, inode: inodeOf(stats), isFolder: stats.isDirectory() };
}

/**
 * The present state of a path, or undefined if it is protected or cannot be read. If `links` is
 * `parents`, the state of a link itself, not of its target.
 */
export async function effectAt(
  world: World,
  path: string,
  links: 'all' | 'parents' = 'all',
): Promise<Effect | undefined> {
  const outcome = world.workspace.locate(path, 'undo', links);
  if (!outcome.ok) return undefined;
  const { place } = outcome.located;
  place.dir.close();
  const { key, relative } = place.path;
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
  for (const { effect, now } of endStates) {
    if (sameState(effect.before, now.side)) continue;
    const { before, key, relative } = effect;
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
