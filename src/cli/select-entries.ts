import { isAbsolute } from 'node:path';
import { walkEntries } from '../journal/journal.ts';
import type { Entry, EntryKind } from '../model/entry.ts';
import { keysOf } from '../store/entry-match.ts';
import type { EntryFilter, Store } from '../store/store.ts';
import { canonicalPath } from './canonical.ts';
import type { Cli } from './cli.ts';
import { isWithin, Near, type ScopeFlags } from './near.ts';

/** Flags by which entries are chosen. */
export interface FilterFlags extends ScopeFlags {
  readonly path?: string;
  readonly session?: string;
  readonly since?: number;
  readonly until?: number;
  readonly kind?: readonly EntryKind[];
  /** 0 = all. */
  readonly limit?: number;
}

/** A choice of entries: what the store filters, and what only we can. */
export class EntryChoice {
  readonly near: Near;
  readonly #filter: EntryFilter;
  readonly #folder: string | undefined;
  readonly #limit: number;

  constructor(cli: Pick<Cli, 'cwd'>, flags: FilterFlags) {
    this.near = new Near(cli, flags);
    const path = flags.path === undefined ? undefined : canonicalPath(cli.cwd, flags.path);
    this.#folder = path?.kind === 'folder' ? path.key : undefined;
    this.#limit = flags.limit === undefined || flags.limit === 0 ? Infinity : flags.limit;
    this.#filter = {
      ...this.near.filter,
      ...(flags.session === undefined ? {} : { session: flags.session }),
      ...(flags.since === undefined ? {} : { sinceMs: flags.since }),
      ...(flags.until === undefined ? {} : { untilMs: flags.until }),
      ...(flags.kind === undefined ? {} : { kinds: flags.kind }),
      ...(path === undefined || path.kind === 'folder' ? {} : { key: path.key }),
    };
  }

  /** The chosen entries, newest first unless `more` says otherwise. */
  async *of(store: Store, more: EntryFilter = {}): AsyncGenerator<Entry> {
    let left = this.#limit;
    // Only where nothing is left out here does the store's limit mean the same as ours.
    const limit = this.#folder === undefined && left < Infinity ? { limit: left } : {};
    for await (const entry of walkEntries(store, { ...this.#filter, ...more, ...limit })) {
      if (!this.#fits(entry)) continue;
      yield entry;
      left -= 1;
      if (left <= 0) return;
    }
  }

  #fits(entry: Entry): boolean {
    const folder = this.#folder;
    return folder === undefined || [...pathsOf(entry)].some((key) => isWithin(key, folder));
  }
}

/** Refusals keep the path as it was asked for, which may be a full one. */
function* pathsOf(entry: Entry): Generator<string> {
  if (entry.path !== undefined && isAbsolute(entry.path)) yield entry.path;
  else yield* keysOf(entry);
}
