import type { ResolvedPath } from '../../model/path.ts';
import { type Layer, upperFolder } from '../../process/layer.ts';
import {
  type AttributeReader,
  type LayerEntry,
  layerEntries,
  restoreModes,
} from '../../process/layer-entries.ts';
import type { World } from '../world.ts';

/** A command's writes, per folder of its layer. Read a layer only once: reading it changes some files' modes. */
export interface LayerContent {
  readonly beganNs: bigint;
  readonly folders: readonly { readonly root: string; readonly entries: readonly LayerEntry[] }[];
}

export function readLayer(layer: Layer, attributes: AttributeReader): LayerContent {
  const folders = layer.layered.map((root, index) => ({
    root,
    entries: [...layerEntries(upperFolder(layer, index), attributes)],
  }));
  return { beganNs: layer.beganNs, folders };
}

/**
 * Gives the files and folders of a layer the modes that they had before `readLayer`, so that the
 * layer can be kept and read again.
 */
export function restoreLayer(layer: Layer, { folders }: LayerContent): void {
  for (const [index, { entries }] of folders.entries()) restoreModes(upperFolder(layer, index), entries);
}

/** The keys to lock for a command's writes. A locked folder covers its contents. */
export function layerKeys(world: World, { folders }: LayerContent): readonly string[] {
  const keys = folders.flatMap(({ root, entries }) =>
    outermost(entries).map((relative) => world.workspace.keyOf(absoluteIn(root, relative))),
  );
  return keys.filter((key) => key !== undefined);
}

function outermost(entries: Iterable<LayerEntry>): readonly string[] {
  const touched: string[] = [];
  let covered: string | undefined;
  for (const entry of entries) {
    if (covered !== undefined && entry.relative.startsWith(covered)) continue;
    // A folder that merely contains changed paths needs no lock.
    if (entry.kind === 'folder' && entry.copied && !entry.opaque) continue;
    if (entry.kind === 'folder') covered = `${entry.relative}/`;
    touched.push(entry.relative);
  }
  return touched;
}

/** The absolute path of an entry in the workspace. */
export function absoluteIn(root: string, relative: string): string {
  return `${root === '/' ? '' : root}/${relative}`;
}

type NamedPath = Pick<ResolvedPath, 'root' | 'relative' | 'absolute'>;

/**
 * The name of a path in a root. A worktree has no `.git` folder, so paths in its common git folder are named `.git/…`.
 */
export function nameOf({ workspace }: World, { root, relative }: NamedPath): string {
  return workspace.gitFolders.includes(root) ? `.git/${relative}` : relative;
}

/**
 * Like `nameOf`, but for messages to the agent: the path is absolute unless it is in the first root. Do not match globs
 * against this name.
 */
export function shownNameOf(world: World, path: NamedPath): string {
  return world.workspace.shown({ ...path, relative: nameOf(world, path) });
}
