import { hash } from 'node:crypto';
import { type DirectoryEntry, inspect, linkTarget, listNames } from '../disk/list.ts';
import { isReadOnly } from '../disk/read.ts';
import { type Conflict, conflict } from '../disk/replace.ts';
import { ABSENT, type State } from '../model/delta.ts';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import type { PinnedDirectory, ResolvedPath } from '../model/path.ts';
import { atPath, fileAt } from './found.ts';
import type { PlannedDelta } from './plan.ts';
import type { World } from './world.ts';

/**
 * The deltas that remove a tree. Fingerprints every file, so that each is removed only if unchanged.
 */
export async function removalsOf(
  world: World,
  nodes: readonly TreeNode[],
): Promise<PlannedDelta[] | Conflict> {
  const removals: PlannedDelta[] = [];
  for (const node of nodes) {
    const known = await sideOfNode(world, node);
    if ('reason' in known) return known;
    const { key, relative } = node.path;
    const { side: before, stamp } = known;
    removals.push({ key, relative, path: node.path, before, after: ABSENT, stamp });
  }
  return removals;
}

async function sideOfNode(
  world: World,
  node: TreeNode,
): Promise<{ readonly side: State; readonly stamp?: Stamp } | Conflict> {
  switch (node.kind) {
    case 'folder':
      return { side: { kind: 'directory', mode: node.mode } };
    case 'link':
      return { side: { kind: 'link', target: node.target } };
    case 'other':
      return conflict('kind', { kind: 'device' });
    case 'file': {
      const { maxEditBytes } = LIMITS;
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
