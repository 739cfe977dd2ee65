import { isBelow, type ResolvedPath } from '../model/path.ts';
import type { Action } from '../model/verdict.ts';

/** Actions that change the entry at a path. Undo and commands are checked separately, file by file. */
export const CHANGES: ReadonlySet<Action> = new Set([
  'create',
  'overwrite',
  'edit',
  'insert',
  'delete',
  'move',
  'mkdir',
]);
/** Actions that affect everything below a folder. */
const TAKES_ALL: ReadonlySet<Action> = new Set(['delete', 'move']);

/** Folders of a workspace that may be read but not changed. */
export class ReadOnlyFolders {
  readonly #folders: readonly { readonly key: string; readonly below: string }[];

  constructor(keys: readonly string[]) {
    // The folder may be `/`, which already ends in a slash.
    this.#folders = keys.map((key) => ({ key, below: key.endsWith('/') ? key : `${key}/` }));
  }

  includes(key: string): boolean {
    return this.#folders.some((folder) => key === folder.key || key.startsWith(folder.below));
  }

  /** True if this action would change something in one of the folders. */
  forbids({ key }: ResolvedPath, action: Action): boolean {
    if (this.#folders.length === 0 || !CHANGES.has(action)) return false;
    if (this.includes(key)) return true;
    return TAKES_ALL.has(action) && this.#folders.some((folder) => isBelow(folder.key, key));
  }
}
