import { hash } from 'node:crypto';
import { holdsAt } from '../disk/content.ts';
import { create, makeLink } from '../disk/create.ts';
import { removeFolder } from '../disk/folders.ts';
import { type DirectoryEntry, inspect, linkTarget, listNames, listUnsorted } from '../disk/list.ts';
import { returnRetained } from '../disk/put-back.ts';
import { isReadOnly } from '../disk/read.ts';
import { remove, removeLink } from '../disk/remove.ts';
import { type Conflict, conflict } from '../disk/replace.ts';
import { dropEmptied } from '../disk/retained.ts';
import { isTakeable, returnFolder, takeFolder } from '../disk/take-folder.ts';
import type { Effect, Side } from '../model/entry.ts';
import { isMissing } from '../model/fault.ts';
import { type Fingerprint, type Stamp, sameStamp } from '../model/fingerprint.ts';
import type { PinnedDirectory, Place, ResolvedPath } from '../model/path.ts';
import type { Action } from '../model/verdict.ts';
import type { AdoptedStats } from '../store/images.ts';
import { isSecretPath } from '../text/secrets.ts';
import type { Found } from '../workspace/workspace.ts';
import { keptContent } from './announce.ts';
import { remakeFolder } from './folder-step.ts';
import { ABSENT, atPath, type Displaced, type Done, fileAt, type Step } from './step.ts';
import type { World } from './world.ts';

/** Fingerprints every file of a tree, so that each is deleted only if unchanged. */
export async function doom(world: World, nodes: readonly TreeNode[]): Promise<Doomed[] | Conflict> {
  const doomed: Doomed[] = [];
  for (const node of nodes) {
    const known = await sideOfNode(world, node);
    if ('reason' in known) return known;
    doomed.push({ path: node.path, ...known });
  }
  return doomed;
}

async function sideOfNode(world: World, node: TreeNode): Promise<Pick<Doomed, 'side' | 'stamp'> | Conflict> {
  switch (node.kind) {
    case 'folder':
      return { side: { kind: 'directory', mode: node.mode } };
    case 'link':
      return { side: { kind: 'link', target: node.target } };
    case 'other':
      return conflict('kind', { kind: 'device' });
    case 'file': {
      const { maxEditBytes } = world.policy;
      const found = await atPath(world, node.path, (place) =>
        fileAt(world, place, { maxBytes: maxEditBytes }),
      );
      if ('reason' in found) return found;
      return 'problem' in found ? conflict('changed') : found;
    }
    default:
      return node satisfies never;
  }
}

interface Removed extends Doomed {
  readonly displaced?: string;
}

/**
 * Deletes a folder with its contents, by one rename if it can be moved to the state folder. Every
 * file is kept for an undo.
 */
export function removeTreeStep(world: World, located: Found, doomed: readonly Doomed[]): Step {
  const { place } = located;
  if (!isTakeable(world.disk, place)) return removeEachStep(world, located, doomed);
  const step = folderOutStep(world, { action: 'delete', path: place.path, doomed });
  const close = (): void => {
    step.close();
    place.dir.close();
  };
  return { ...step, close };
}

/** Deletes the entries one by one, innermost first, for folders on another file system than the state folder. */
function removeEachStep(world: World, located: Found, doomed: readonly Doomed[]): Step {
  const removed: Removed[] = [];
  let left = false;
  const { path } = located.place;
  return {
    action: 'delete',
    path,
    effects: doomed.map(effectOf),
    run: async () => {
      const stopped = await removeAll(world, doomed, removed);
      if (stopped !== undefined) left = !(await putBack(world, removed));
      if (stopped instanceof Error) throw stopped;
      if (stopped !== undefined) return stopped;
      const displaced = removed.flatMap((item) => displacedOf(item, item.displaced));
      return { ...goneResult(path, doomed), displaced };
    },
    isLeft: () => left,
    revert: () => putBack(world, removed),
    close: () => located.place.dir.close(),
  };
}

/** Removes entries one by one and adds them to `removed`. Returns the conflict or error that stops it. */
async function removeAll(
  world: World,
  doomed: readonly Doomed[],
  removed: Removed[],
): Promise<Conflict | Error | undefined> {
  try {
    for (const item of doomed) {
      const outcome = await atPath<Removed | Conflict>(world, item.path, (place) =>
        removeOne(world, place, item),
      );
      if ('reason' in outcome) return outcome;
      removed.push(outcome);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return error;
  }
}

async function removeOne(world: World, place: Place, item: Doomed): Promise<Removed | Conflict> {
  const { side } = item;
  switch (side.kind) {
    case 'directory':
      return (await removeFolder(world.disk, place)) ? item : conflict('changed');
    case 'link': {
      const unlinked = await removeLink(world.disk, place, side.target);
      return unlinked.ok ? item : unlinked;
    }
    case 'file': {
      const taken = await remove(world.disk, place, { fingerprint: side.fingerprint });
      if (!taken.ok) return taken;
      return { ...item, ...(taken.displaced === undefined ? {} : { displaced: taken.displaced }) };
    }
    case 'absent':
      return item;
    default:
      return side satisfies never;
  }
}

/**
 * Restores the entries removed so far, outermost first. Returns false if a name is taken by now, or an entry cannot be
 * restored.
 */
async function putBack(world: World, removed: readonly Removed[]): Promise<boolean> {
  let complete = true;
  for (const item of removed.toReversed()) complete = (await isBack(world, item)) && complete;
  return complete;
}

async function isBack(world: World, item: Removed): Promise<boolean> {
  try {
    return (await atPath(world, item.path, (place) => putOneBack(world, place, item))) === true;
  } catch {
    // Go on with the other entries. The next process that locks this path records its state.
    return false;
  }
}

async function putOneBack(world: World, place: Place, { side, displaced }: Removed): Promise<boolean> {
  if (side.kind === 'link') return (await makeLink(world.disk, place, side.target)).ok;
  if (side.kind === 'directory') {
    await remakeFolder(world, place, side.mode);
    return true;
  }
  if (side.kind !== 'file' || displaced === undefined) return true;
  return putFileBack(world, place, { side, displaced });
}

/** Moves a removed file back. If `displaced` no longer exists, writes the stored bytes instead. */
export async function putFileBack(
  world: World,
  place: Place,
  { side, displaced }: { readonly side: Extract<Side, { kind: 'file' }>; readonly displaced: string },
): Promise<boolean> {
  try {
    return returnRetained(displaced, place);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const content = await keptContent(world, side.fingerprint);
  return (await create(world.disk, place, { ...content, mode: side.mode })).ok;
}

/** The fingerprint of a folder: its names and their kinds. File contents do not count. */
export function listingFingerprint(entries: readonly DirectoryEntry[]): Fingerprint {
  // Successive entries of one kind become one string, because one string per entry would be slow.
  const runs: string[] = [];
  for (let from = 0, to = 0; from < entries.length; from = to) {
    const kind = entries[from]?.kind;
    const names: string[] = [];
    for (let entry = entries[from]; entry !== undefined && entry.kind === kind; entry = entries[++to])
      names.push(entry.name);
    names[0] = `${kind}\0${names[0]}`;
    names[names.length - 1] += '\n';
    runs.push(names.join(`\n${kind}\0`));
  }
  return { sha256: hash('sha256', runs.join(''), 'hex'), size: entries.length };
}

export interface FolderNode {
  readonly kind: 'folder';
  readonly path: ResolvedPath;
  readonly entries: readonly DirectoryEntry[];
  readonly listing: Fingerprint;
  readonly mode: number;
}

/** One entry of a tree, as `readTree` found it. */
export type TreeNode =
  | FolderNode
  | { readonly kind: 'file'; readonly path: ResolvedPath; readonly readOnly: boolean }
  | { readonly kind: 'link'; readonly path: ResolvedPath; readonly target: string }
  | { readonly kind: 'other'; readonly path: ResolvedPath };

/** A folder and everything below it, each folder after its contents. Follows no links. */
export function readTree(world: World, dir: PinnedDirectory, path: ResolvedPath): TreeNode[] {
  const nodes: TreeNode[] = [];
  const entries = listNames(dir);
  for (const entry of entries) {
    const child = world.workspace.child(path, entry.name);
    if (entry.kind === 'directory') {
      const inner = dir.enter(entry.name);
      try {
        for (const node of readTree(world, inner, child)) nodes.push(node);
      } finally {
        inner.close();
      }
    } else nodes.push(leaf(dir, entry, child));
  }
  const mode = Number((inspect(dir, '.')?.mode ?? 0o755n) & 0o777n);
  nodes.push({ kind: 'folder', path, entries, listing: listingFingerprint(entries), mode });
  return nodes;
}

function leaf(dir: PinnedDirectory, entry: DirectoryEntry, path: ResolvedPath): TreeNode {
  if (entry.kind === 'file') {
    const stats = inspect(dir, entry.name);
    return { kind: 'file', path, readOnly: stats !== undefined && isReadOnly(stats) };
  }
  if (entry.kind !== 'link') return { kind: 'other', path };
  const target = linkTarget({ dir, name: entry.name });
  return target === undefined ? { kind: 'other', path } : { kind: 'link', path, target };
}

/** One file, link or folder in a tree, and its state before it is deleted. */
export interface Doomed {
  readonly path: ResolvedPath;
  readonly side: Side;
  /** The stamp of a file, if an unchanged stamp proves unchanged bytes. */
  readonly stamp?: Stamp | undefined;
}

interface FolderOut {
  readonly action: Action;
  /** The folder to delete. */
  readonly path: ResolvedPath;
  /** Everything in the folder and the folder itself; each folder comes after its contents. */
  readonly doomed: readonly Doomed[];
}

/**
 * Deletes a folder with its contents by one rename out of the workspace. The rename is reverted if
 * anything inside has changed since it was checked. The files are kept for an undo.
 */
export function folderOutStep(world: World, { action, path, doomed }: FolderOut): Step {
  // Use the spelled path, not the key: where file names ignore case, a key has only lower-case letters.
  const relativeTo = (item: Doomed): string => item.path.absolute.slice(path.absolute.length + 1);
  const expected = new Map(doomed.map((item) => [relativeTo(item), item]));
  let kept: string | undefined;
  return {
    action,
    path,
    effects: doomed.map(effectOf),
    run: async () =>
      atPath(world, path, async (place): Promise<Done | Conflict> => {
        const stats = new Map<Doomed, AdoptedStats>();
        const taken = await takeFolder(world.disk, place, (dir) => isTree(dir, expected, stats));
        if (!taken.ok) return taken;
        kept = taken.kept;
        const displaced = doomed.flatMap((item) =>
          displacedIn(taken.kept, { item, name: relativeTo(item), stats: stats.get(item) }),
        );
        return { ...goneResult(path, doomed), displaced };
      }),
    revert: async () => {
      const folder = kept;
      if (folder === undefined) return true;
      const back = await atPath(world, path, (place) => returnAll(world, { place, folder, doomed, path }));
      return back === true;
    },
    close: () => {
      if (kept !== undefined && world.images.holdsTree?.(kept) !== true) dropEmptied(kept);
    },
  };
}

function effectOf({ path, side }: Doomed): Effect {
  // The fields are in alphabetical order, so that the journal need not sort them.
  return { after: ABSENT, before: side, key: path.key, relative: path.relative };
}

function displacedOf({ side }: Doomed, file: string | undefined): Displaced[] {
  return side.kind === 'file' && file !== undefined ? [{ file, ...side.fingerprint }] : [];
}

/**
 * Describes a file of a folder that was moved out of the workspace. Empty if the item is no file.
 * `tree`: the file may stay in the moved folder for an undo. A file of secrets never stays.
 */
function displacedIn(
  folder: string,
  { item, name, stats }: { item: Doomed; name: string; stats: AdoptedStats | undefined },
): Displaced[] {
  const { side, stamp, path } = item;
  if (side.kind !== 'file') return [];
  const mayStay = stats?.nlink === 1n && stamp !== undefined && !isSecretPath(path.relative);
  const file = `${folder}/${name}`;
  return [{ file, ...side.fingerprint, stats, tree: mayStay ? { folder, name, stamp } : undefined }];
}

function goneResult(path: ResolvedPath, doomed: readonly Doomed[]): Omit<Done, 'displaced'> {
  const result = { path: path.given, changed: true, created: false, sizeBytes: 0, notices: [] };
  return { ok: true, result, sightings: [], tombstones: doomed.map((item) => item.path.key) };
}

/**
 * True if a folder holds exactly the entries of `expected`, unchanged. Their names are relative to
 * the folder, whose own name is ''. Adds to `stats` the stats of files with unchanged stamps.
 */
function isTree(
  dir: PinnedDirectory,
  expected: ReadonlyMap<string, Doomed>,
  stats: Map<Doomed, AdoptedStats>,
): boolean {
  let met = 1;
  const isAsExpected = (folder: PinnedDirectory, prefix: string): boolean =>
    listUnsorted(folder).every(({ name, kind }) => {
      met += 1;
      const item = expected.get(`${prefix}${name}`);
      if (item === undefined) return false;
      if (kind !== 'directory') return isLeaf(folder, name, { item, stats });
      if (item.side.kind !== 'directory') return false;
      const inner = folder.enter(name);
      try {
        return isAsExpected(inner, `${prefix}${name}/`);
      } finally {
        inner.close();
      }
    });
  return isAsExpected(dir, '') && met === expected.size;
}

function isLeaf(
  dir: PinnedDirectory,
  name: string,
  { item, stats }: { readonly item: Doomed; readonly stats: Map<Doomed, AdoptedStats> },
): boolean {
  const { side, stamp } = item;
  if (side.kind === 'link') return linkTarget({ dir, name }) === side.target;
  if (side.kind !== 'file') return false;
  const found = stamp === undefined ? undefined : inspect(dir, name);
  if (stamp === undefined || found === undefined || !sameStamp(stamp, found))
    return holdsAt({ dir, name }, side.fingerprint);
  stats.set(item, { nlink: found.nlink, mode: found.mode });
  return true;
}

interface Taken {
  readonly place: Place;
  readonly folder: string;
  readonly doomed: readonly Doomed[];
  readonly path: ResolvedPath;
}

/** Renames the folder back, and restores those of its files that were moved into the store. */
async function returnAll(world: World, { place, folder, doomed, path }: Taken): Promise<boolean> {
  if (!(await returnFolder(world.disk, folder, place))) return false;
  world.images.dropTree?.(folder);
  let complete = true;
  for (const item of doomed) {
    if (item.side.kind !== 'file' || item.path.key === path.key) continue;
    complete = (await isReturned(world, item, item.side)) && complete;
  }
  return complete;
}

async function isReturned(
  world: World,
  item: Doomed,
  side: Extract<Side, { kind: 'file' }>,
): Promise<boolean> {
  const back = await atPath(world, item.path, async (place) => {
    if (inspect(place.dir, place.name) !== undefined) return true;
    const content = await keptContent(world, side.fingerprint);
    return (await create(world.disk, place, { ...content, mode: side.mode })).ok;
  });
  return back === true;
}
