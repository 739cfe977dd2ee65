import type { EntryFilter } from '../store/store.ts';
import { canonicalPath } from './canonical.ts';
import type { Cli } from './cli.ts';

export interface ScopeFlags {
  /** Look from these folders instead of the current one. */
  readonly root?: readonly string[];
  /** Every workspace of this machine. */
  readonly all?: boolean;
}

/**
 * Which workspaces a command is about. Like git, a command works anywhere inside of one; and in a folder that holds
 * several it is about all of them. So: every workspace that is, contains or lies in one of the folders looked from.
 */
export class Near {
  /** Canonical; undefined = every workspace of this machine. */
  readonly folders: readonly string[] | undefined;

  constructor(cli: Pick<Cli, 'cwd'>, flags: ScopeFlags) {
    const from = flags.root === undefined || flags.root.length === 0 ? ['.'] : flags.root;
    this.folders =
      flags.all === true ? undefined : from.map((folder) => canonicalPath(cli.cwd, folder).absolute);
  }

  /** For the store: the entries of these workspaces. */
  get filter(): Pick<EntryFilter, 'near'> {
    return this.folders === undefined ? {} : { near: this.folders };
  }

  includes(root: string): boolean {
    const { folders } = this;
    return folders?.some((folder) => isWithin(folder, root) || isWithin(root, folder)) ?? true;
  }
}

/** True for the folder itself and everything below; both canonical. */
export function isWithin(path: string, folder: string): boolean {
  if (path === folder) return true;
  const prefix = /[\\/]$/.test(folder) ? folder : `${folder}/`;
  return path.startsWith(prefix);
}
