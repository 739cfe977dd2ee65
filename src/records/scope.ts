import { repositoryAround, worktreesAround } from '../process/git.ts';
import type { EntryFilter } from '../store/store.ts';
import { canonicalPath } from './canonical-path.ts';

/** The folders from which the user looks at the records. */
export interface ScopeRequest {
  readonly cwd: string;
  /** Look from these folders instead of the current one. */
  readonly root?: readonly string[] | undefined;
  /** Every workspace of this machine. */
  readonly all?: boolean | undefined;
  /** Also the other worktrees of the repositories that the folders are in. */
  readonly family?: true;
}

/**
 * The workspaces a request is about: every workspace that is, contains or lies in one of the folders looked from. So a
 * command works anywhere inside a workspace, as git does, and in a folder that holds several it is about all of them.
 */
export class Scope {
  /** Canonical; undefined = every workspace of this machine. */
  readonly folders: readonly string[] | undefined;

  constructor({ cwd, root, all, family }: ScopeRequest) {
    const from = root === undefined || root.length === 0 ? ['.'] : root;
    const folders = from.map((folder) => canonicalPath(cwd, folder).absolute);
    const worktrees = family === true ? folders.flatMap(otherWorktrees) : [];
    this.folders = all === true ? undefined : [...new Set([...folders, ...worktrees])];
  }

  /** For the store: the entries of these workspaces. */
  get filter(): Pick<EntryFilter, 'near'> {
    return this.folders === undefined ? {} : { near: this.folders };
  }

  includes(root: string): boolean {
    const { folders } = this;
    return folders?.some((folder) => isInScope(folder, root) || isInScope(root, folder)) ?? true;
  }
}

/** The other worktrees of the repository around a folder. */
function otherWorktrees(folder: string): readonly string[] {
  const own = repositoryAround(folder);
  return worktreesAround(folder).filter((top) => top !== own);
}

/** True for the folder itself and everything below; both canonical. */
export function isInScope(path: string, folder: string): boolean {
  if (path === folder) return true;
  const prefix = /[\\/]$/.test(folder) ? folder : `${folder}/`;
  return path.startsWith(prefix);
}
