import type { Content } from '../disk/content.ts';
import { holdsAt } from '../disk/content.ts';
import { inspect, linkTarget, listUnsorted } from '../disk/list.ts';
import { isReadOnly } from '../disk/read.ts';
import { type Conflict, conflict } from '../disk/replace.ts';
import {
  buildFolder,
  isTakeable,
  type NewFolder,
  type NewNode,
  publishFolder,
  returnFolder,
  takeFolder,
} from '../disk/take-folder.ts';
import { sameStamp } from '../model/fingerprint.ts';
import type { PinnedDirectory, Place } from '../model/path.ts';
import { type Displaced, keptContent } from './announce.ts';
import { atPath } from './found.ts';
import type { PlannedDelta } from './plan.ts';
import type { World } from './world.ts';

/**
 * Folders with fewer entries are made or removed entry by entry. For them, checking the folder and
 * then renaming it as a whole would save no time.
 */
const WHOLE_ITEMS = 8;

/** A folder that is made (`in`) or removed (`out`) with all its contents by one rename. */
export interface WholeFolder {
  readonly course: 'in' | 'out';
  readonly root: PlannedDelta;
  readonly inside: readonly PlannedDelta[];
}

/**
 * The folders among the deltas that one rename can make or remove, by their root. Folders are made
 * by one rename only in a batch, because the batch syncs them. `as tree`: the deltas remove a folder
 * that was just read with all its contents.
 */
export function wholeFolders(
  world: World,
  deltas: readonly PlannedDelta[],
  how: 'each' | 'as tree' = 'each',
): ReadonlyMap<PlannedDelta, WholeFolder> {
  const whole = new Map<PlannedDelta, WholeFolder>();
  const fewest = how === 'as tree' ? 0 : WHOLE_ITEMS;
  for (const { root, inside } of foldersIn(deltas)) {
    const course = courseOf(root);
    if (inside.length < fewest || course === 'other') continue;
    const folder = { course, root, inside };
    const may = course === 'in' ? mayComeWhole : how === 'as tree' ? isTakeableTree : mayGoWhole;
    if (may(world, folder)) whole.set(root, folder);
  }
  return whole;
}

/**
 * True if no delta affects the path of another: nothing moves, and no two deltas have the same path.
 */
export function areIndependent(deltas: readonly Pick<PlannedDelta, 'key' | 'movedFrom'>[]): boolean {
  const keys = new Set<string>();
  for (const { key, movedFrom } of deltas) {
    if (movedFrom !== undefined) return false;
    keys.add(key);
  }
  return keys.size === deltas.length;
}

type Course = WholeFolder['course'] | 'other';

function courseOf({ before, after }: PlannedDelta): Course {
  if (before.kind === 'absent') return after.kind === 'absent' ? 'other' : 'in';
  return after.kind === 'absent' ? 'out' : 'other';
}

/** The outermost folders that are made or removed, each with the deltas below it. */
function foldersIn(deltas: readonly PlannedDelta[]): readonly Omit<WholeFolder, 'course'>[] {
  if (!areIndependent(deltas)) return [];
  const aroundOf = deltasAround(deltas);
  const isMixed = new Set(
    deltas.flatMap((delta) => aroundOf(delta).filter((around) => courseOf(around) !== courseOf(delta))),
  );
  const isWhole = (delta: PlannedDelta): boolean => isFolder(delta) && !isMixed.has(delta);
  const folders = new Map<PlannedDelta, PlannedDelta[]>();
  for (const delta of deltas) {
    const root = aroundOf(delta).find(isWhole) ?? (isWhole(delta) ? delta : undefined);
    if (root === undefined) continue;
    const inside = folders.get(root) ?? [];
    folders.set(root, inside);
    if (delta !== root) inside.push(delta);
  }
  return [...folders].map(([root, inside]) => ({ root, inside }));
}

/**
 * Returns a function that finds the deltas of a path's parent folders, outermost first. Caches the
 * result per folder.
 */
function deltasAround(deltas: readonly PlannedDelta[]): (delta: PlannedDelta) => readonly PlannedDelta[] {
  const byKey = new Map(deltas.map((delta) => [delta.key, delta]));
  const known = new Map<string, readonly PlannedDelta[]>();
  return ({ key }) => {
    const folder = folderOf(key);
    const around = known.get(folder) ?? foldersAbove(key).flatMap((above) => byKey.get(above) ?? []);
    known.set(folder, around);
    return around;
  };
}

function isFolder(delta: PlannedDelta): boolean {
  const course = courseOf(delta);
  return course !== 'other' && (course === 'in' ? delta.after : delta.before).kind === 'directory';
}

function folderOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/'));
}

/** Keys of the parent folders of a key, outermost first. */
function foldersAbove(key: string): string[] {
  const keys: string[] = [];
  for (let end = key.indexOf('/', 1); end > 0; end = key.indexOf('/', end + 1)) keys.push(key.slice(0, end));
  return keys;
}

function mayComeWhole(world: World, { root, inside }: WholeFolder): boolean {
  const folders = new Set([root, ...inside].filter(isFolder).map(({ key }) => key));
  if (world.disk.batch === undefined || !inside.every(({ key }) => folders.has(folderOf(key)))) return false;
  const outcome = world.workspace.locate(root.path.absolute, 'undo', 'parents');
  if (!outcome.ok) return false;
  const { located } = outcome;
  const isFree = !located.exists && located.missing.length === 1;
  const may = isFree && isTakeable(world.disk, { dir: located.place.dir, name: '.' });
  located.place.dir.close();
  return may;
}

/** True if one rename can remove a folder that was just read with all its contents. */
function isTakeableTree(world: World, { root }: WholeFolder): boolean {
  const outcome = world.workspace.locate(root.path.absolute, 'undo', 'parents');
  if (!outcome.ok) return false;
  const { exists, place } = outcome.located;
  const may = exists && isTakeable(world.disk, place);
  place.dir.close();
  return may;
}

function mayGoWhole(world: World, { root, inside }: WholeFolder): boolean {
  if (inside.some(({ path }) => world.workspace.isRoot(path))) return false;
  const outcome = world.workspace.locate(root.path.absolute, 'undo', 'parents');
  if (!outcome.ok) return false;
  const { located } = outcome;
  try {
    if (!located.exists || !located.stats.isDirectory() || !isTakeable(world.disk, located.place))
      return false;
    const items = new Map(inside.map((item) => [nameIn(root, item), item]));
    const dir = located.place.dir.enter(located.place.name);
    const names = namesIn(dir, '', items);
    dir.close();
    const mayGo = ({ name, readOnly }: Name): boolean => {
      const item = items.get(name);
      if (item === undefined || !readOnly) return item !== undefined;
      const { before, mode } = item;
      return before.kind === 'file' && mode === 'asBefore' && (before.mode & 0o222) === 0;
    };
    return names.length === items.size && names.every(mayGo);
  } finally {
    located.place.dir.close();
  }
}

/** The path of an item relative to its folder; '' for the folder itself. */
function nameIn(root: PlannedDelta, { path }: PlannedDelta): string {
  // Use the spelled path, not the key: where file names ignore case, a key has only lower-case letters.
  return path.absolute.slice(root.path.absolute.length + 1);
}

interface Name {
  /** The entry's path relative to the folder. */
  readonly name: string;
  readonly readOnly: boolean;
}

/** All names below a folder. The mode of a file is not read again if `known` has it. */
function namesIn(dir: PinnedDirectory, prefix: string, known: ReadonlyMap<string, PlannedDelta>): Name[] {
  const names: Name[] = [];
  for (const entry of listUnsorted(dir)) {
    const name = `${prefix}${entry.name}`;
    const mode = known.get(name)?.presentMode;
    const stats = entry.kind === 'file' && mode === undefined ? inspect(dir, entry.name) : undefined;
    const readOnly = mode === undefined ? stats !== undefined && isReadOnly(stats) : (mode & 0o222) === 0;
    names.push({ name, readOnly });
    if (entry.kind !== 'directory') continue;
    const inner = dir.enter(entry.name);
    for (const below of namesIn(inner, `${name}/`, known)) names.push(below);
    inner.close();
  }
  return names;
}

interface TakenFolder {
  readonly ok: true;
  /** The folder's present path, outside the workspace. */
  readonly kept: string;
  readonly displaced: readonly Displaced[];
}

/**
 * Removes a folder with its contents by one rename out of the workspace. The rename is reverted if
 * anything inside has changed since it was checked. The files are kept for an undo.
 */
export function removeWhole(world: World, { root, inside }: WholeFolder): Promise<TakenFolder | Conflict> {
  const items = [...inside, root];
  const expected = new Map(items.map((item) => [nameIn(root, item), item]));
  return atPath(world, root.path, async (place): Promise<TakenFolder | Conflict> => {
    const taken = await takeFolder(world.disk, place, (dir) => isTree(dir, expected));
    if (!taken.ok) return taken;
    const displaced = items.flatMap((item) => displacedIn(taken.kept, item, nameIn(root, item)));
    return { ...taken, displaced };
  });
}

/** Describes a file of a folder that was moved out of the workspace. Empty if the item is no file. */
function displacedIn(folder: string, { before }: PlannedDelta, name: string): Displaced[] {
  return before.kind === 'file' ? [{ file: `${folder}/${name}`, ...before.fingerprint, folder }] : [];
}

/**
 * True if a folder holds exactly the entries of `expected`, unchanged. Their names are relative to
 * the folder, whose own name is ''.
 */
function isTree(dir: PinnedDirectory, expected: ReadonlyMap<string, PlannedDelta>): boolean {
  let met = 1;
  const isAsExpected = (folder: PinnedDirectory, prefix: string): boolean =>
    listUnsorted(folder).every(({ name, kind }) => {
      met += 1;
      const item = expected.get(`${prefix}${name}`);
      if (item === undefined) return false;
      if (kind !== 'directory') return isLeaf(folder, name, item);
      if (item.before.kind !== 'directory') return false;
      const inner = folder.enter(name);
      try {
        return isAsExpected(inner, `${prefix}${name}/`);
      } finally {
        inner.close();
      }
    });
  return isAsExpected(dir, '') && met === expected.size;
}

function isLeaf(dir: PinnedDirectory, name: string, { before, stamp }: PlannedDelta): boolean {
  if (before.kind === 'link') return linkTarget({ dir, name }) === before.target;
  if (before.kind !== 'file') return false;
  const found = stamp === undefined ? undefined : inspect(dir, name);
  if (stamp !== undefined && found !== undefined && sameStamp(stamp, found)) return true;
  return holdsAt({ dir, name }, before.fingerprint);
}

/** Moves a removed folder back. */
export async function returnWhole(world: World, { root }: WholeFolder, kept: string): Promise<boolean> {
  const back = await atPath(world, root.path, (place) => returnFolder(world.disk, kept, place));
  return back === true;
}

/** Builds a folder with its contents under a temporary name, and returns that name. */
export async function buildWhole(world: World, folder: WholeFolder): Promise<string | undefined> {
  const built = await atPath(world, folder.root.path, (place) =>
    buildFolder(world.disk, place, nodesOf(world, folder)),
  );
  return typeof built === 'string' ? built : undefined;
}

/** Gives a built folder its name. */
export function publishWhole(
  world: World,
  { root }: WholeFolder,
  built: string | undefined,
): Promise<{ readonly ok: true } | Conflict> {
  return atPath(world, root.path, async (place: Place): Promise<{ readonly ok: true } | Conflict> => {
    if (built === undefined) return conflict('changed');
    return (await publishFolder(world.disk, place, built)) ? { ok: true } : conflict('exists');
  });
}

/** The folder as a tree of nodes. */
function nodesOf(world: World, { root, inside }: WholeFolder): NewFolder {
  const nodesIn = new Map<string, NewNode[]>();
  const folder = folderNode(root, nodesIn);
  // A folder comes before its contents: its key is shorter.
  for (const delta of [...inside].sort((a, b) => a.key.length - b.key.length)) {
    const node = delta.after.kind === 'directory' ? folderNode(delta, nodesIn) : leafNode(world, delta);
    nodesIn.get(folderOf(delta.key))?.push(node);
  }
  return folder;
}

function folderNode(delta: PlannedDelta, nodesIn: Map<string, NewNode[]>): NewFolder {
  const { key, after } = delta;
  const nodes: NewNode[] = [];
  nodesIn.set(key, nodes);
  return {
    kind: 'folder',
    name: nameOf(delta),
    mode: after.kind === 'directory' ? after.mode : 0o755,
    nodes,
  };
}

function leafNode(world: World, delta: PlannedDelta): NewNode {
  const { after, bytes, file } = delta;
  const name = nameOf(delta);
  if (after.kind !== 'file') return { kind: 'link', name, target: after.kind === 'link' ? after.target : '' };
  const { fingerprint, mode } = after;
  const content = async (): Promise<Content> =>
    bytes === undefined ? keptContent(world, fingerprint) : { bytes: bytes(), fingerprint };
  return { kind: 'file', name, mode, content, file };
}

function nameOf({ path: { relative } }: PlannedDelta): string {
  return relative.slice(relative.lastIndexOf('/') + 1);
}
