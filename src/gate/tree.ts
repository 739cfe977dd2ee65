import { hash } from 'node:crypto';
import { type DirectoryEntry, inspect, linkTarget, listNames } from '../disk/list.ts';
import { isReadOnly } from '../disk/stats.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { PinnedDirectory, ResolvedPath } from '../model/path.ts';
import type { World } from './world.ts';

/** The fingerprint of a folder: its names and their kinds. File contents do not count. */
export function listingFingerprint(entries: readonly DirectoryEntry[]): Fingerprint {
  const text = entries.map((entry) => `${entry.kind}\0${entry.name}\n`).join('');
  return { sha256: hash('sha256', text, 'hex'), size: entries.length };
}

export interface FolderNode {
  readonly kind: 'folder';
  readonly path: ResolvedPath;
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
  nodes.push({ kind: 'folder', path, listing: listingFingerprint(entries), mode });
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
