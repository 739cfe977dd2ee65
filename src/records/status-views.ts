import type { World } from '../gate/world.ts';
import { type Entry, type EntryKind, isChange } from '../model/entry.ts';
import { defined } from '../model/record.ts';
import type { FileStatus } from '../model/results.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Outcome } from '../model/verdict.ts';
import type { Sessions } from '../session/sessions.ts';
import { status } from '../session/status.ts';
import { type EntryFilter, inSteps, type Store } from '../store/store.ts';
import { Knowledge } from '../views/knowledge.ts';
import { isPrevented } from './judged-refusals.ts';
import type { Records } from './records.ts';
import { canonicalPath, type Scope } from './scope.ts';

/**
 * A session with its newest turn. If machines share the store, also the machine and workspace where
 * it works.
 */
interface PlacedSession extends SessionRecord {
  /**
   * The label or id of the session's newest turn. Absent if the turn is older than the last `MAX_TURNS` turns in scope.
   */
  readonly turn?: string;
  readonly machine?: string;
  readonly workspace?: string;
}

/** Maximum number of newest turns that are searched for the newest turn of each session. */
const MAX_TURNS = 1000;
/** Up to this number, sessions are not sorted by their last use, which would take a query for each. */
const FEW_SESSIONS = 20;

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
  const { store, fleet } = records;
  // The queries are sent together, so that a store on another machine costs one round trip.
  const [known, [newest], marks] = await Promise.all([
    store.sessions(),
    // Leave out notices, because notices about the whole state name no workspace.
    store.entries({ ...scope.filter, kinds: ['session', 'change', 'read'], limit: 1 }),
    listed === undefined ? [] : store.entries({ ...scope.filter, kinds: ['turn'], limit: MAX_TURNS }),
  ]);
  const inScope = known.filter((record) => scope.includes(record.root));
  const count = listed === 0 ? inScope.length : (listed ?? 0);
  const isShort = inScope.length <= Math.min(FEW_SESSIONS, listed === undefined ? FEW_SESSIONS : count);
  const all = isShort ? inScope : await byLastUse(store, inScope);
  const machines = fleet && (await newestEntries(store, all.slice(0, count)));
  const placed = all.slice(0, count).map((record): PlacedSession => {
    const mark = marks.find(({ session }) => session === record.id);
    const session = { ...record, ...defined({ turn: mark?.label ?? mark?.turn }) };
    if (fleet === undefined) return session;
    const machine = machines?.get(record.id)?.machine ?? fleet.machine;
    return { ...session, machine, workspace: fleet.workspaceOf(record.root) };
  });
  const roots = [...all, ...(newest === undefined ? [] : [newest])].map(({ root }) => root);
  return { sessions: [...placed, ...all.slice(count)], roots: [...new Set(roots)] };
}

/**
 * Sorts sessions by their last use, newest first. Records have only the times of opening and
 * closing, so the newest journal entry of each open session counts as well. Otherwise a list of the
 * newest sessions would lack one that was opened long ago and is in use.
 */
async function byLastUse(store: Store, records: readonly SessionRecord[]): Promise<readonly SessionRecord[]> {
  const open = records.filter(({ closedMs }) => closedMs === undefined);
  const used = await newestEntries(store, open);
  const lastUse = ({ id, lastMs }: SessionRecord): number => Math.max(lastMs, used.get(id)?.atMs ?? 0);
  return records.toSorted((a, b) => lastUse(b) - lastUse(a));
}

async function newestEntries(
  store: Store,
  sessions: readonly SessionRecord[],
): Promise<ReadonlyMap<string, Entry | undefined>> {
  const newest = ({ id }: SessionRecord) => store.entries({ session: id, limit: 1 });
  const found = await inSteps(sessions, newest);
  return new Map(sessions.map(({ id }, index) => [id, found[index]?.[0]]));
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
  const [[last], views] = await Promise.all([
    world.store.entries({ key, kinds: ['change'], limit: 1 }),
    inSteps(viewers, (knowledge) => status(world, knowledge, absolute)),
  ]);
  const seenBy = viewers.flatMap(({ session }, index): SeenFile[] => {
    const seen = views[index];
    const [file] = seen?.ok === true ? seen.files : [];
    const client = request.sessions.find(({ id }) => id === session)?.client;
    return file === undefined ? [] : [{ session, ...(client === undefined ? {} : { client }), file }];
  });
  const author = request.sessions.find(({ id }) => id === last?.session);
  const lastClient = author === undefined ? await clientOf(sessions, last) : author.client;
  return { ok: true, view: { root, relative, exists: outcome.exists, lastChange: last, lastClient, seenBy } };
}

/** The files a session has seen, most recently seen first. */
export async function filesSeenBy({ world }: Sessions, session: string): Promise<readonly FileStatus[]> {
  const seen = await status(world, new Knowledge({ ...world, session }), undefined, Infinity);
  return seen.ok ? seen.files : [];
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
  sessions: Sessions,
  records: readonly SessionRecord[],
): Promise<readonly SessionFreshness[]> {
  return inSteps(records, async ({ id, lastMs }) => {
    const sightings = await new Knowledge({ ...sessions.world, session: id }).all();
    const files = await filesSeenBy(sessions, id);
    return {
      seen: sightings.filter((sighting) => sighting.how !== 'listing').length,
      outOfDate: files.filter(({ freshness }) => freshness === 'stale' || freshness === 'deleted').length,
      lastMs: sightings.reduce((last, { atMs }) => Math.max(last, atMs), lastMs),
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

/** Numbers of the harm that the gate kept away in a week. */
interface PreventedHarm {
  /** Refused changes that would have destroyed bytes the session had not seen. */
  readonly overwritesStopped: number;
  /** Edits of files that had changed since the session saw them, applied with both changes kept. */
  readonly editsMerged: number;
  readonly commandsUndoable: number;
}

/** Entries are counted for this period. Older ones do not show whether the gate works now. */
const WEEK_MS = 7 * 24 * 60 * 60_000;
/** The newest refusals and changes, and the newest notices and unjudged calls, are counted up to these numbers. */
const [MAX_WEEK, MAX_COUNTED] = [10_000, 1000];

interface WeekRequest {
  readonly nowMs: number;
  /** Default: everywhere. */
  readonly scope?: Scope;
}

/** The filter for the entries of the last seven days. */
function lately<K extends EntryKind>(
  { nowMs, scope }: WeekRequest,
  kinds: readonly K[],
  limit: number,
): EntryFilter<K> {
  return { ...(scope?.filter ?? {}), kinds, sinceMs: nowMs - WEEK_MS, limit };
}

/** Counts the harm that was prevented in the last seven days. */
export async function preventedHarm({ store }: Stored, request: WeekRequest): Promise<PreventedHarm> {
  const entries = await store.entries(lately(request, ['refusal', 'change'], MAX_WEEK));
  const changes = entries.filter(isChange);
  return {
    overwritesStopped: entries.filter((entry) => entry.kind === 'refusal' && isPrevented(entry)).length,
    editsMerged: changes.filter(({ diffBytes }) => diffBytes !== undefined).length,
    commandsUndoable: changes.filter(({ action }) => action === 'run').length,
  };
}

/** Entries of the last seven days: their number, at most `MAX_COUNTED`, and the newest one. */
interface CountedEntries {
  readonly count: number;
  readonly newest: Entry | undefined;
}

type Stored = Pick<Records, 'store'>;

/** The calls in agent programs such as Claude Code that the hooks let pass without a judgement. */
export async function unjudgedCalls({ store }: Stored, request: WeekRequest): Promise<CountedEntries> {
  const entries = await store.entries(lately(request, ['unjudged'], MAX_COUNTED));
  return { count: entries.length, newest: entries[0] };
}

/** The commands that removed what nothing else held, and that nobody has undone. */
export async function destructions({ store }: Stored, request: WeekRequest): Promise<CountedEntries> {
  const notices = await store.entries(lately(request, ['notice'], MAX_COUNTED));
  const caused = notices.filter(({ loss }) => loss === 'caused');
  const changes = caused.length === 0 ? [] : await store.entries(lately(request, ['change'], MAX_COUNTED));
  const undone = new Set(changes.flatMap((entry) => [entry.undoes, ...(entry.undone?.changes ?? [])]));
  const standing = caused.filter(({ change }) => !undone.has(change));
  return { count: standing.length, newest: standing[0] };
}
