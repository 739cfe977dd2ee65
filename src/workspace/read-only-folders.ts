import type { ResolvedPath } from '../model/path.ts';
import type { Action } from '../model/verdict.ts';

/** Actions that change what is at a path. An undo and a command are checked by themselves, for each file. */
const CHANGES: ReadonlySet<Action> = new Set([
  'create',
  'overwrite',
  'edit',
  'insert',
  'delete',
  'move',
  'mkdir',
]);
/** Actions that take everything below a folder along. */
const TAKES_ALL: ReadonlySet<Action> = new Set(['delete', 'move']);

/** Folders of a workspace that may be read and not changed. */
export class ReadOnlyFolders {
  readonly #folders: readonly { readonly key: string; readonly below: string }[];

  /** `keys`: of the folders, which are inside the roots. */
  constructor(keys: readonly string[]) {
    this.#folders = keys.map((key) => ({ key, below: `${key}/` }));
  }

  includes(key: string): boolean {
    return this.#folders.some((folder) => key === folder.key || key.startsWith(folder.below));
  }

  /** True if this action would change something in one of the folders. */
  forbids({ key }: ResolvedPath, action: Action): boolean {
    if (this.#folders.length === 0 || !CHANGES.has(action)) return false;
    if (this.includes(key)) return true;
    return TAKES_ALL.has(action) && this.#folders.some((folder) => folder.key.startsWith(`${key}/`));
  }
}
