import { newestSelected } from '../journal/undo-entries.ts';
import type { Entry } from '../model/entry.ts';
import type { UndoSelection } from '../model/session.ts';
import type { Store } from '../store/store.ts';
import { canonicalPath } from './canonical.ts';
import type { Cli } from './cli.ts';
import { netEffects } from './net-effects.ts';
import { EntryChoice, type FilterFlags } from './select-entries.ts';

/** One undo in one workspace. */
export interface UndoJob {
  /** To be opened; the first is the one the changes were recorded in. */
  readonly roots: readonly string[];
  readonly selection: UndoSelection;
}

export type UndoFlags = Pick<FilterFlags, 'root' | 'all' | 'path' | 'session' | 'since'>;

/**
 * What is to be taken back where. A change: that one, wherever it was made. A session or a time: everything of it, in
 * every workspace around. Otherwise the newest change around that still stands, whoever made it (or the session that the
 * environment names).
 */
export async function undoJobs(
  cli: Cli,
  store: Store,
  request: { readonly change: string | undefined; readonly flags: UndoFlags },
): Promise<UndoJob[]> {
  const { change, flags } = request;
  const path = flags.path === undefined ? undefined : canonicalPath(cli.cwd, flags.path);
  const only = path === undefined ? {} : { path: path.absolute };
  if (change !== undefined) {
    const [entry] = await store.entries({ change, kinds: ['change'], limit: 1 });
    return entry === undefined ? [] : [{ roots: rootsOf([entry]), selection: { change, ...only } }];
  }
  if (flags.session !== undefined || flags.since !== undefined)
    return jobsPerRoot(cli, store, { flags, only });
  const session = cli.env['LOOKFIRST_SESSION'] || undefined;
  const newest = await newestStanding(cli, store, {
    flags: { ...flags, ...(session === undefined ? {} : { session }) },
    ...(path === undefined ? {} : { key: path.key }),
  });
  if (newest?.change === undefined) return [];
  return [{ roots: rootsOf([newest]), selection: { change: newest.change, ...only } }];
}

async function jobsPerRoot(
  cli: Cli,
  store: Store,
  { flags, only }: { readonly flags: UndoFlags; readonly only: { readonly path?: string } },
): Promise<UndoJob[]> {
  const byRoot = new Map<string, Entry[]>();
  for await (const entry of changesAround(cli, store, flags))
    byRoot.set(entry.root, [...(byRoot.get(entry.root) ?? []), entry]);
  const selection = {
    ...(flags.session === undefined ? {} : { session: flags.session }),
    ...(flags.since === undefined ? {} : { sinceMs: flags.since }),
    ...only,
  };
  return [...byRoot.values()].map((entries) => ({ roots: rootsOf(entries), selection }));
}

/** The newest change that was not taken back; several workspaces may be around, and each knows only its own. */
async function newestStanding(
  cli: Cli,
  store: Store,
  { flags, key }: { readonly flags: UndoFlags; readonly key?: string },
): Promise<Entry | undefined> {
  const tried = new Set<string>();
  let best: Entry | undefined;
  for await (const { root, seq } of changesAround(cli, store, flags)) {
    if (best !== undefined && seq < best.seq) break;
    if (tried.has(root)) continue;
    tried.add(root);
    const found = await newestSelected(store, {
      kind: 'last',
      root,
      ...(flags.session === undefined ? {} : { session: flags.session }),
      ...(key === undefined ? {} : { key }),
    });
    if (found !== undefined && found.seq > (best?.seq ?? 0)) best = found;
  }
  return best;
}

function changesAround(cli: Cli, store: Store, flags: UndoFlags): AsyncGenerator<Entry> {
  return new EntryChoice(cli, { ...flags, kind: ['change'], limit: 0 }).of(store);
}

/** Every root that changes reach into, the one they were recorded in first. */
function rootsOf(entries: readonly Entry[]): string[] {
  const own = entries.map((entry) => entry.root);
  return [...new Set([...own, ...netEffects(entries).map((effect) => effect.root)])];
}
