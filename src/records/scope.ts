import { parse, resolve } from 'node:path';
import { isWithin } from '../model/path.ts';
import { repositoryAround, worktreesAround } from '../process/git.ts';
import type { EntryFilter } from '../store/store.ts';
import { Workspace } from '../workspace/workspace.ts';

/** The folders whose records the user wants to see. */
export interface ScopeRequest {
  readonly cwd: string;
  /** Use these folders instead of the current one. */
  readonly root?: readonly string[] | undefined;
  /** Show every workspace of this machine. */
  readonly all?: boolean | undefined;
  /** Include the other worktrees of the repositories that contain the folders. */
  readonly family?: true;
}

/**
 * The workspaces that a request covers: those around a given folder, and those inside it. So a
 * command works anywhere inside a workspace, as git does.
 */
export class Scope {
  /** Canonical paths; undefined means every workspace of this machine. */
  readonly folders: readonly string[] | undefined;

  constructor({ cwd, root, all, family }: ScopeRequest) {
    const from = root === undefined || root.length === 0 ? ['.'] : root;
    const folders = from.map((folder) => canonicalPath(cwd, folder).absolute);
    const worktrees = family === true ? folders.flatMap(otherWorktrees) : [];
    this.folders = all === true ? undefined : [...new Set([...folders, ...worktrees])];
  }

  /** The store's filter for the entries of these workspaces. */
  get filter(): Pick<EntryFilter, 'near'> {
    return this.folders === undefined ? {} : { near: this.folders };
  }

  includes(root: string): boolean {
    const { folders } = this;
    return folders?.some((folder) => isWithin(folder, root) || isWithin(root, folder)) ?? true;
  }
}

/** The other worktrees of the repository around a folder. */
function otherWorktrees(folder: string): readonly string[] {
  const own = repositoryAround(folder);
  return worktreesAround(folder).filter((top) => top !== own);
}

/** A path without links. Parts that do not exist are kept as given. */
interface CanonicalPath {
  readonly absolute: string;
  /**
   * The path that identifies the file in the journal, and in the records of what sessions have
   * read.
   */
  readonly key: string;
  readonly kind: 'folder' | 'file' | 'missing';
}

/**
 * Resolves a path as workspaces do, so that a typed path equals the recorded one. If that fails (a
 * loop of links, a folder without access), returns the path with its links. With `parents`, a link
 * at the end of the path is not followed.
 */
export function canonicalPath(cwd: string, path: string, links: 'all' | 'parents' = 'all'): CanonicalPath {
  const full = resolve(cwd, path);
  const everything = Workspace.open([parse(full).root]);
  try {
    const found = everything.resolve(full, 'status', links);
    if (!found.ok) return { absolute: full, key: full, kind: 'missing' };
    const { absolute, key } = found.path;
    if (!found.exists) return { absolute, key, kind: 'missing' };
    return { absolute, key, kind: found.stats.isDirectory() ? 'folder' : 'file' };
  } finally {
    everything.close();
  }
}
