import { isAbsolute } from 'node:path';
import { lastAt } from '../model/delta.ts';
import type { Entry, EntryKind } from '../model/entry.ts';
import { isWithin } from '../model/path.ts';
import { defined } from '../model/record.ts';
import { entryKeys } from '../store/entry-columns.ts';
import { type EntryFilter, lastChange, type Store, walkEntries } from '../store/store.ts';
import { canonicalPath, Scope, type ScopeRequest } from './scope.ts';

/** The user's choice of entries. */
export interface EntryRequest extends ScopeRequest {
  /** A file, or everything in a folder. */
  readonly path?: string | undefined;
  readonly session?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  readonly kinds?: readonly EntryKind[] | undefined;
  /** `hidden`: leaves out entries that only say that another process continues a session. */
  readonly continued?: 'hidden' | undefined;
  /** The maximum number of entries; 0 or absent means all. */
  readonly limit?: number | undefined;
}

/**
 * The journal entries that a user chose. The store applies most conditions; this class checks the
 * folder and `continued`.
 */
export class EntryChoice {
  readonly #filter: EntryFilter;
  readonly #folder: string | undefined;
  /** The chosen path, if nothing exists there now and the path does not end in a slash. */
  readonly #missing: string | undefined;
  readonly #continued: 'hidden' | undefined;
  readonly #limit: number;

  constructor(request: EntryRequest) {
    const { session, sinceMs, untilMs, kinds, limit } = request;
    const path = request.path === undefined ? undefined : canonicalPath(request.cwd, request.path);
    this.#continued = request.continued;
    const isMissing = path?.kind === 'missing';
    // If nothing exists at the path, a slash at its end shows that the user means a folder.
    const isFolder = path?.kind === 'folder' || (isMissing && /[\\/]$/.test(request.path ?? ''));
    this.#folder = isFolder ? path?.key : undefined;
    this.#missing = isMissing && !isFolder ? path.key : undefined;
    this.#limit = limit === undefined || limit === 0 ? Infinity : limit;
    this.#filter = {
      ...new Scope(request).filter,
      ...defined({ session, sinceMs, untilMs, kinds }),
      ...(path === undefined || isFolder ? {} : { key: path.key }),
    };
  }

  /** The chosen entries, newest first unless `more` asks for another order. */
  async *of(store: Store, more: EntryFilter = {}): AsyncGenerator<Entry> {
    let left = this.#limit;
    const folder = this.#folder ?? (await this.#removedFolder(store));
    const filter = folder === undefined ? this.#filter : { ...this.#filter, key: undefined };
    // The store counts entries that are dropped here, so pass the limit to the store only if none
    // are dropped here.
    const isExact = folder === undefined && this.#continued === undefined;
    const limit = isExact && left < Infinity ? { limit: left } : {};
    for await (const entry of walkEntries(store, { ...filter, ...more, ...limit })) {
      if (!this.#fits(entry, folder)) continue;
      yield entry;
      left -= 1;
      if (left <= 0) return;
    }
  }

  /**
   * The chosen path, if the last recorded change there removed a folder or moved it away. `of` then
   * also returns the entries of the folder's files.
   */
  async #removedFolder(store: Store): Promise<string | undefined> {
    const key = this.#missing;
    if (key === undefined) return undefined;
    const last = await lastChange(store, key);
    return lastAt(last?.deltas, key)?.before.kind === 'directory' ? key : undefined;
  }

  #fits(entry: Entry, folder: string | undefined): boolean {
    if (this.#continued === 'hidden' && entry.kind === 'session' && entry.event === 'continued') return false;
    return folder === undefined || [...pathsOf(entry)].some((key) => isWithin(key, folder));
  }
}

/**
 * The absolute paths of an entry's files. A refused path outside all workspaces has no key, so use
 * `path` itself if it is absolute.
 */
function* pathsOf(entry: Entry): Generator<string> {
  if (entry.path !== undefined && isAbsolute(entry.path)) yield entry.path;
  else yield* entryKeys(entry);
}
