import type { UndoRequest } from '../gate/undo/choice.ts';
import { undo } from '../gate/undo/undo.ts';
import { undoPart } from '../gate/undo/undo-part.ts';
import type { World } from '../gate/world.ts';
import { newestSelected } from '../journal/undo-history.ts';
import { endsOf } from '../model/delta.ts';
import { type ChangeEntry, COMMAND_LINE, isChange } from '../model/entry.ts';
import { isOutside } from '../model/path.ts';
import { defined } from '../model/record.ts';
import type { UndoResult } from '../model/results.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import { foldersAt } from '../session/configured.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';
import { Knowledge } from '../views/knowledge.ts';
import { EntryChoice, type EntryRequest } from './entry-choice.ts';
import { netEffects } from './net-effects.ts';
import type { Records } from './records.ts';
import { canonicalPath } from './scope.ts';

/** One undo in one workspace. */
export interface UndoJob {
  /** The roots to open for the undo. The changes were recorded in the first one. */
  readonly roots: readonly string[];
  readonly selection: UndoRequest;
}

/** The user's choice of changes to undo. */
interface TakeBackRequest
  extends Pick<EntryRequest, 'cwd' | 'root' | 'all' | 'path' | 'session' | 'sinceMs'> {
  readonly change?: string | undefined;
  /**
   * If the user names no change, session or time, the newest change of this session is undone.
   * Undefined: the newest change of any session in scope.
   */
  readonly newestOf?: string | undefined;
}

/**
 * Returns the undos that a request selects: of the change that it names, or of all changes of the
 * session or time that it names. Without any of these, returns only the undo of the newest change
 * in scope that is not undone yet.
 */
export async function undoJobs({ store }: Records, request: TakeBackRequest): Promise<UndoJob[]> {
  const { change, session, sinceMs } = request;
  const path = request.path === undefined ? undefined : canonicalPath(request.cwd, request.path);
  const only = path === undefined ? {} : { path: path.absolute };
  if (change !== undefined) {
    const [entry] = await store.entries({ change, kinds: ['change'], limit: 1 });
    if (entry === undefined) return [];
    return [{ roots: rootsOf([entry]), selection: { change, ...only, ...linkIn(entry, request) } }];
  }
  if (session !== undefined || sinceMs !== undefined) return jobsPerRoot(store, request, path);
  const newest = await newestStanding(store, request, path?.key);
  if (newest === undefined) return [];
  return [{ roots: rootsOf([newest]), selection: { change: newest.change, ...only } }];
}

/**
 * The path that the user named, without following a link at its end, so that a change of the link
 * itself can be undone. Empty if the change did not concern exactly this path.
 */
function linkIn({ deltas }: ChangeEntry, { cwd, path }: TakeBackRequest): { readonly path?: string } {
  if (path === undefined) return {};
  const { absolute, key } = canonicalPath(cwd, path, 'parents');
  return deltas.some((delta) => endsOf(delta).includes(key)) ? { path: absolute } : {};
}

async function jobsPerRoot(
  store: Store,
  request: TakeBackRequest,
  path: ReturnType<typeof canonicalPath> | undefined,
): Promise<UndoJob[]> {
  const { session, sinceMs } = request;
  const byRoot = new Map<string, ChangeEntry[]>();
  for await (const entry of changesIn(store, request)) {
    const known = byRoot.get(entry.root);
    if (known === undefined) byRoot.set(entry.root, [entry]);
    else known.push(entry);
  }
  const limits = defined({ session, sinceMs });
  const selection = { ...limits, ...defined({ path: path?.absolute }) };
  const jobs = [...byRoot.values()].map((entries) => ({ roots: rootsOf(entries), selection }));
  const [first, second] = jobs;
  if (first === undefined || second === undefined) return jobs;
  // Leave out workspaces in which everything is undone already: undo there would be refused.
  const wanted = { kind: 'all', ...limits, ...defined({ key: path?.key }) } as const;
  const open: UndoJob[] = [];
  for (const job of jobs) {
    const newest = await newestSelected(store, { ...wanted, roots: job.roots.slice(0, 1) });
    if (newest !== undefined) open.push(job);
  }
  return open.length === 0 ? [first] : open;
}

/**
 * The newest change that is not undone yet. Searches each workspace separately, because an undo
 * concerns one workspace.
 */
async function newestStanding(
  store: Store,
  request: TakeBackRequest,
  key: string | undefined,
): Promise<ChangeEntry | undefined> {
  const { newestOf: session, ...rest } = request;
  const tried = new Set<string>();
  let best: ChangeEntry | undefined;
  for await (const { root, seq } of changesIn(store, { ...rest, session })) {
    if (best !== undefined && seq < best.seq) break;
    if (tried.has(root)) continue;
    tried.add(root);
    const found = await newestSelected(store, {
      kind: 'last',
      roots: [root],
      ...defined({ session, key }),
    });
    if (found !== undefined && found.seq > (best?.seq ?? 0)) best = found;
  }
  return best;
}

async function* changesIn(store: Store, request: EntryRequest): AsyncGenerator<ChangeEntry> {
  const choice = new EntryChoice({ ...request, kinds: ['change'], limit: 0 });
  for await (const entry of choice.of(store)) if (isChange(entry)) yield entry;
}

/**
 * Every root that the changes reach into, except worktrees that are gone: the undo makes them again.
 * The root in which the changes were recorded comes first.
 */
function rootsOf(entries: readonly ChangeEntry[]): string[] {
  const own = [...new Set(entries.map((entry) => entry.root))];
  const inside = netEffects(entries).filter((effect) => !isOutside(effect, own));
  const reached = [...new Set(inside.map((effect) => effect.root))];
  const found = foldersAt(reached);
  return [...own, ...reached.filter((root, at) => !own.includes(root) && found[at] !== undefined)];
}

/** The result of an undo, or of its preview. */
export interface TakenBack {
  readonly result: UndoResult;
  /** The paths of the result are relative to this root. */
  readonly root: string;
  /** The undone changes, newest first. */
  readonly changes: readonly ChangeEntry[];
}

/**
 * Undoes changes for the user, who may undo anything without having read it. With `preview` nothing
 * changes.
 */
export function takeBack(
  sessions: Pick<Sessions, 'world'>,
  selection: UndoRequest,
  who: string = COMMAND_LINE,
): Promise<Outcome<{ readonly taken: TakenBack }>> {
  return asPerson(sessions, who, (world, knowledge) => undo(world, knowledge, selection));
}

/**
 * True if an undo that was refused would succeed as a merge. The next steps `list` and `ask_human`
 * show that the refusal concerns a folder, a link or another special case, which cannot be merged.
 */
export async function couldMerge(
  sessions: Pick<Sessions, 'world'>,
  { code, next }: Refusal,
  selection: UndoRequest,
): Promise<boolean> {
  if (code !== 'STALE' || next === 'list' || next === 'ask_human' || selection.merge === true) return false;
  return (await takeBack(sessions, { ...selection, merge: true, preview: true })).ok;
}

/** Undoes one hunk of a change for the user. */
export function takeBackPart(
  sessions: Pick<Sessions, 'world'>,
  part: Parameters<typeof undoPart>[2],
  who: string,
): Promise<Outcome<{ readonly taken: TakenBack }>> {
  return asPerson(sessions, who, (world, knowledge) => undoPart(world, knowledge, part));
}

async function asPerson(
  { world }: Pick<Sessions, 'world'>,
  who: string,
  act: (world: World, knowledge: Knowledge) => Promise<Outcome<UndoResult>>,
): Promise<Outcome<{ readonly taken: TakenBack }>> {
  const { store, policy, workspace } = world;
  try {
    const outcome = await act(world, new Knowledge({ store, session: who, policy }));
    if (!outcome.ok) return outcome;
    const { ok: _, ...result } = outcome;
    const changes: ChangeEntry[] = [];
    for (const change of result.undid)
      changes.push(...(await store.entries({ change, kinds: ['change'], limit: 1 })));
    return { ok: true, taken: { result, root: workspace.roots[0] ?? '', changes } };
  } finally {
    await store.record({ forget: [{ session: who }] });
  }
}
