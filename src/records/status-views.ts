import type { World } from '../gate/world.ts';
import type { Entry } from '../model/entry.ts';
import type { FileStatus } from '../model/results.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Sighting } from '../model/sighting.ts';
import type { Outcome } from '../model/verdict.ts';
import type { Sessions } from '../session/sessions.ts';
import { status } from '../session/status.ts';
import { Knowledge } from '../views/knowledge.ts';
import type { Records } from './records.ts';
import type { Scope } from './scope.ts';
import { canonicalPath } from './scope.ts';
import { byLastUse, lastUsedMs, type PlacedSession, placedSessions } from './session-views.ts';

/**
 * The sessions in a scope, and the roots of their workspaces. Also includes the root of the newest
 * journal entry, whose session may no longer be stored.
 */
interface StatusPlaces {
  /** The sessions, most recently used first. Only those that a command lists have a turn, a machine and a workspace. */
  readonly sessions: readonly PlacedSession[];
  readonly roots: readonly string[];
}

/**
 * Collects the sessions and workspaces of a scope. `listed`: how many sessions get their turn, machine
 * and workspace; 0 means all, undefined none.
 */
export async function surroundings(records: Records, scope: Scope, listed?: number): Promise<StatusPlaces> {
  const { store } = records;
  // Both queries are sent together, so that a store on another machine costs one round trip.
  const [known, [newest]] = await Promise.all([
    store.sessions(),
    // Leave out notices, because notices about the whole state name no workspace.
    store.entries({ ...scope.filter, kinds: ['session', 'change', 'read'], limit: 1 }),
  ]);
  const inScope = known.filter((record) => scope.includes(record.root));
  const count = listed === 0 ? inScope.length : listed;
  const all = await byLastUse(records, inScope, count);
  const placed = await placedSessions(records, scope, all.slice(0, count ?? 0));
  const sessions = [...placed, ...all.slice(count ?? 0)];
  const roots = [...sessions.map((record) => record.root), ...(newest === undefined ? [] : [newest.root])];
  return { sessions, roots: [...new Set(roots)] };
}

/** A file, its last change and what sessions have seen of it. */
interface FileView {
  readonly root: string;
  readonly relative: string;
  readonly exists: boolean;
  readonly lastChange: Entry | undefined;
  /** The program that made the last change. */
  readonly lastClient: string | undefined;
  readonly seenBy: readonly SeenFile[];
}

interface SeenFile {
  readonly session: string;
  readonly client?: string;
  readonly file: FileStatus;
}

/**
 * Reports which sessions have seen a file, whether the file is unchanged since, and which session
 * changed it last.
 */
export async function fileView(
  sessions: Sessions,
  request: {
    readonly cwd: string;
    readonly path: string;
    readonly sessions: readonly SessionRecord[];
    /** Show only this session. */
    readonly session?: string | undefined;
  },
): Promise<Outcome<{ readonly view: FileView }>> {
  const { world } = sessions;
  const { absolute } = canonicalPath(request.cwd, request.path);
  const outcome = world.workspace.resolve(absolute);
  if (!outcome.ok) return { ok: false, refusal: { ...outcome.refusal, path: request.path } };
  const { key, root, relative } = outcome.path;
  const viewers = await viewersOf(world, request, key);
  const [lastChange, views] = await Promise.all([
    world.store.lastChange(key),
    inSteps(viewers, (knowledge) => status(world, knowledge, absolute)),
  ]);
  const seenBy = viewers.flatMap(({ session }, index): SeenFile[] => {
    const seen = views[index];
    const [file] = seen?.ok === true ? seen.files : [];
    const client = request.sessions.find(({ id }) => id === session)?.client;
    return file === undefined ? [] : [{ session, ...(client === undefined ? {} : { client }), file }];
  });
  const author = request.sessions.find(({ id }) => id === lastChange?.session);
  const lastClient = author === undefined ? await clientOf(sessions, lastChange) : author.client;
  return { ok: true, view: { root, relative, exists: outcome.exists, lastChange, lastClient, seenBy } };
}

/** The files a session has seen, most recently seen first. */
export async function filesSeenBy({ world }: Sessions, session: string): Promise<readonly FileStatus[]> {
  return (await allSeenBy(world, session)).files;
}

/** Everything that a session has seen, and the status of each file among it. */
async function allSeenBy(
  world: World,
  session: string,
): Promise<{ readonly sightings: readonly Sighting[]; readonly files: readonly FileStatus[] }> {
  const knowledge = new Knowledge({ ...world, session });
  const sightings = await knowledge.all();
  const seen = await status(world, knowledge, undefined, Infinity);
  return { sightings, files: seen.ok ? seen.files : [] };
}

/** The newest change of the workspaces in a scope. */
export async function newestChange({ world: { store } }: Sessions, scope: Scope): Promise<Entry | undefined> {
  const [last] = await store.entries({ ...scope.filter, kinds: ['change'], limit: 1 });
  return last;
}

/** The program whose session made an entry, if the session is still known. */
export async function clientOf(
  { world: { store } }: Sessions,
  entry: Entry | undefined,
): Promise<string | undefined> {
  return entry === undefined ? undefined : (await store.session(entry.session))?.client;
}

/**
 * The number of files that a session has seen, the number that changed since, and the time of the
 * session's last use.
 */
interface SessionFreshness {
  readonly seen: number;
  readonly outOfDate: number;
  readonly lastMs: number;
}

/** Counts of the files that each session has seen, in the order of `records`. */
export function freshnessOf(
  { world }: Sessions,
  records: readonly SessionRecord[],
): Promise<readonly SessionFreshness[]> {
  return inSteps(records, async (record) => {
    const { sightings, files } = await allSeenBy(world, record.id);
    return {
      seen: sightings.filter((sighting) => sighting.how !== 'listing').length,
      outOfDate: files.filter(({ freshness }) => freshness === 'stale' || freshness === 'deleted').length,
      lastMs: lastUsedMs(record, sightings),
    };
  });
}

async function viewersOf(
  world: World,
  {
    sessions,
    session,
  }: { readonly sessions: readonly SessionRecord[]; readonly session?: string | undefined },
  key: string,
): Promise<readonly Knowledge[]> {
  const ids = session ? [session] : sessions.map(({ id }) => id);
  const seen = await inSteps(ids, async (id) => world.store.recallMany(id, [key]));
  return ids.flatMap((id, index) => {
    const found = seen[index];
    if (found === undefined || (!session && !found.has(key))) return [];
    return [new Knowledge({ ...world, session: id })];
  });
}

/**
 * Maximum number of queries in progress. A shared store may have thousands of sessions. If all
 * queries were sent together, the last ones would exceed their deadlines.
 */
const AT_ONCE = 200;

/**
 * Runs the work for all items, up to `AT_ONCE` at a time. If the store is on another machine,
 * queries that are sent together take only one round trip.
 */
async function inSteps<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(work))));
  return results;
}

/** Numbers of the harm that the gate kept away in a week. */
export interface PreventedHarm {
  /** Refused changes that would have destroyed bytes the session had not seen. */
  readonly overwritesStopped: number;
  /** Edits of files that had changed since the session saw them, applied with both changes kept. */
  readonly editsMerged: number;
  readonly commandsUndoable: number;
}

const WEEK_MS = 7 * 24 * 60 * 60_000;
/** The newest refusals and changes of the week are counted, up to this number. */
const MAX_WEEK = 10_000;
const STOPPED: ReadonlySet<string | undefined> = new Set([
  'NOT_READ',
  'PARTIALLY_READ',
  'READ_EXPIRED',
  'STALE',
  'REVISION_MISMATCH',
  'WOULD_DESTROY',
]);

/** Counts the harm that was prevented in the last seven days, in a scope. */
export async function preventedHarm(
  { store }: Pick<Records, 'store'>,
  { nowMs, scope }: { readonly nowMs: number; readonly scope: Scope },
): Promise<PreventedHarm> {
  const entries = await store.entries({
    ...scope.filter,
    kinds: ['refusal', 'change'],
    sinceMs: nowMs - WEEK_MS,
    limit: MAX_WEEK,
  });
  const count = (fits: (entry: Entry) => boolean): number => entries.filter(fits).length;
  return {
    overwritesStopped: count(({ code, observed }) => observed !== true && STOPPED.has(code)),
    editsMerged: count(({ kind, diffBytes }) => kind === 'change' && diffBytes !== undefined),
    commandsUndoable: count(({ kind, action }) => kind === 'change' && action === 'run'),
  };
}

/** Calls in agent programs such as Claude Code that the hooks let pass without a judgement. */
export interface UnjudgedCalls {
  /** The number of unjudged calls, at most `MAX_COUNTED`. */
  readonly count: number;
  readonly newest: Entry | undefined;
}

/**
 * Period for which unjudged calls and destructions are counted. Older calls do not show whether the
 * hooks work now.
 */
const LATELY_MS = 7 * 24 * 60 * 60_000;
const MAX_COUNTED = 1000;

/** The unjudged calls of the last seven days, in a scope or everywhere. */
export async function unjudgedCalls(
  { store }: Pick<Records, 'store'>,
  { nowMs, scope }: { readonly nowMs: number; readonly scope?: Scope },
): Promise<UnjudgedCalls> {
  const entries = await store.entries({
    ...(scope?.filter ?? {}),
    kinds: ['unjudged'],
    sinceMs: nowMs - LATELY_MS,
    limit: MAX_COUNTED,
  });
  return { count: entries.length, newest: entries[0] };
}

/** Commands that removed what nothing else held, and that nobody has undone. */
export interface Destructions {
  readonly count: number;
  readonly newest: Entry | undefined;
}

/** The destructions of the last seven days in a scope. */
export async function destructions(
  { store }: Pick<Records, 'store'>,
  { nowMs, scope }: { readonly nowMs: number; readonly scope: Scope },
): Promise<Destructions> {
  const lately = { ...scope.filter, sinceMs: nowMs - LATELY_MS, limit: MAX_COUNTED };
  const notices = await store.entries({ ...lately, kinds: ['notice'] });
  const caused = notices.filter(({ loss }) => loss === 'caused');
  const changes = caused.length === 0 ? [] : await store.entries({ ...lately, kinds: ['change'] });
  const undone = new Set(changes.flatMap((entry) => [entry.undoes, ...(entry.undone?.changes ?? [])]));
  const standing = caused.filter(({ change }) => !undone.has(change));
  return { count: standing.length, newest: standing[0] };
}
