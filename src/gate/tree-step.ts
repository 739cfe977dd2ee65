import { hash } from 'node:crypto';
import { create, makeLink } from '../disk/create.ts';
import { makeFolders, removeFolder, setFolderMode } from '../disk/folders.ts';
import { type DirectoryEntry, inspect, linkTarget, listNames } from '../disk/list.ts';
import { returnRetained } from '../disk/put-back.ts';
import { isReadOnly } from '../disk/read.ts';
import { remove, removeLink } from '../disk/remove.ts';
import { type Conflict, conflict } from '../disk/replace.ts';
import { isTakeable } from '../disk/take-folder.ts';
import type { Side } from '../model/entry.ts';
import { isMissing } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { PinnedDirectory, Place, ResolvedPath } from '../model/path.ts';
import type { Found } from '../workspace/workspace.ts';
import { keptContent } from './announce.ts';
import { type Doomed, folderOutStep } from './folder-out-step.ts';
import { ABSENT, atPath, type Displaced, fileAt, type Step } from './step.ts';
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
      const found = await atPath(world, node.path, (place) => fileAt(world, place, maxEditBytes));
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
 * Deletes a folder with its contents, by one rename if it can be moved to the state folder. Every file becomes an
 * image.
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
    effects: doomed.map((item) => ({
      key: item.path.key,
      relative: item.path.relative,
      before: item.side,
      after: ABSENT,
    })),
    run: async () => {
      const stopped = await removeAll(world, doomed, removed);
      if (stopped !== undefined) left = !(await putBack(world, removed));
      if (stopped instanceof Error) throw stopped;
      if (stopped !== undefined) return stopped;
      const result = { path: path.given, changed: true, created: false, sizeBytes: 0, notices: [] };
      return {
        ok: true,
        result,
        sightings: [],
        tombstones: doomed.map((item) => item.path.key),
        displaced: removed.flatMap(displacedOf),
      };
    },
    isLeft: () => left,
    revert: () => putBack(world, removed),
    close: () => located.place.dir.close(),
  };
}

/** Removes entries one by one. Returns the conflict of the first that cannot be removed. */
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

function displacedOf({ side, displaced }: Removed): Displaced[] {
  return side.kind === 'file' && displaced !== undefined ? [{ file: displaced, ...side.fingerprint }] : [];
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
    // Ignore the error and restore the others. The next process that locks this file settles it by its state.
    return false;
  }
}

async function putOneBack(world: World, place: Place, { side, displaced }: Removed): Promise<boolean> {
  if (side.kind === 'link') return (await makeLink(world.disk, place, side.target)).ok;
  if (side.kind === 'directory') {
    const made = makeFolders(world.disk, place, [place.name]);
    try {
      setFolderMode(made.dir, side.mode);
      await made.sync();
    } finally {
      made.close();
    }
    return true;
  }
  if (side.kind !== 'file' || displaced === undefined) return true;
  return putFileBack(world, place, { side, displaced });
}

/** Moves the inode back, or writes a copy if the inode is already an image: other entries may rely on that image. */
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
  // Folders with thousands of names: each run of one kind is joined at once, which makes no string for each entry.
  let text = '';
  for (let from = 0, to = 0; from < entries.length; from = to) {
    const kind = entries[from]?.kind;
    const names: string[] = [];
    for (let entry = entries[from]; entry !== undefined && entry.kind === kind; entry = entries[++to])
      names.push(entry.name);
    text += `${kind}\0${names.join(`\n${kind}\0`)}\n`;
  }
  return { sha256: hash('sha256', text, 'hex'), size: entries.length };
}

export interface FolderNode {
  readonly kind: 'folder';
  readonly path: ResolvedPath;
  readonly entries: readonly DirectoryEntry[];
  readonly listing: Fingerprint;
  readonly mode: number;
}

/** One entry of a tree, held by the handle of its folder. */
export type TreeNode =
  | FolderNode
  | { readonly kind: 'file'; readonly path: ResolvedPath; readonly readOnly: boolean }
  | { readonly kind: 'link'; readonly path: ResolvedPath; readonly target: string }
  | { readonly kind: 'other'; readonly path: ResolvedPath };

/** Everything below a folder, each folder after its contents, the folder itself last. Descends by handles only. */
export function readTree(world: World, dir: PinnedDirectory, path: ResolvedPath): TreeNode[] {
  const nodes: TreeNode[] = [];
  const entries = listNames(dir);
  for (const entry of entries) {
    const child = world.workspace.child(path, entry.name);
    if (entry.kind === 'directory') {
      const inner = dir.enter(entry.name);
      try {
        nodes.push(...readTree(world, inner, child));
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
  return { kind: 'link', path, target: linkTarget({ dir, name: entry.name }) ?? '' };
}
