import { randomBytes } from 'node:crypto';
import { relative } from 'node:path';
import type { World } from '../gate/world.ts';
import { type ActiveGrant, activeGrants } from '../journal/grants.ts';
import { walkEntries } from '../journal/journal.ts';
import { Ledger } from '../ledger/ledger.ts';
import type { Effect, Entry, Grant, NewEntry } from '../model/entry.ts';
import type { FileStatus } from '../model/results.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Outcome } from '../model/verdict.ts';
import type { Sessions } from '../session/sessions.ts';
import { status } from '../session/status.ts';
import type { EntryFilter } from '../store/store.ts';
import { decodeText } from '../text/decode.ts';
import { lostChanges } from '../text/lost-change.ts';
import { canonicalPath } from './canonical-path.ts';
import { absolutePathOf } from './entry-words.ts';
import { netEffects } from './net-effects.ts';
import { findBytes } from './path-diff.ts';
import type { Records } from './records.ts';
import { isInScope, type Scope } from './scope.ts';
import { lastUsedMs, type PlacedSession, placedSessions } from './session-views.ts';

/** The sessions in a scope, and the workspaces that they or the journal name. */
export interface StatusPlaces {
  /** Most recently used first. Only the first `MAX_PLACED` have a turn, a machine and a workspace. */
  readonly sessions: readonly PlacedSession[];
  readonly roots: readonly string[];
}

const MAX_PLACED = 50;

export async function surroundings(records: Records, scope: Scope): Promise<StatusPlaces> {
  const { store } = records;
  const all = (await store.sessions()).filter((record) => scope.includes(record.root));
  const placed = await placedSessions(records, scope, all.slice(0, MAX_PLACED));
  const sessions = [...placed, ...all.slice(MAX_PLACED)];
  // Notices are excluded, because those about the whole state name no workspace.
  const [newest] = await store.entries({ ...scope.filter, kinds: ['session', 'change', 'read'], limit: 1 });
  const roots = [...sessions.map((record) => record.root), ...(newest === undefined ? [] : [newest.root])];
  return { sessions, roots: [...new Set(roots)] };
}

/** A file, its last change and what sessions have seen of it. */
export interface FileView {
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

/** Reports who has seen a file, whether it is unchanged since, and who changed it last. */
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
  const seenBy: SeenFile[] = [];
  for (const session of await viewersOf(world, request, key)) {
    const [file] = await filesSeenBy(sessions, session, absolute);
    if (file === undefined) continue;
    const client = request.sessions.find(({ id }) => id === session)?.client;
    seenBy.push({ session, ...(client === undefined ? {} : { client }), file });
  }
  const lastChange = await world.store.lastChange(key);
  const lastClient = await clientOf(sessions, lastChange);
  return { ok: true, view: { root, relative, exists: outcome.exists, lastChange, lastClient, seenBy } };
}

/** The files a session has seen, most recently seen first, or one of them. */
export async function filesSeenBy(
  { world }: Sessions,
  session: string,
  path?: string,
): Promise<readonly FileStatus[]> {
  const seen = await status(world, new Ledger({ ...world, session }), path);
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

/** The number of a session's sightings that are still current. */
export interface SessionFreshness {
  readonly seen: number;
  readonly outOfDate: number;
  readonly lastMs: number;
}

export async function sessionFreshness(sessions: Sessions, record: SessionRecord): Promise<SessionFreshness> {
  const { world } = sessions;
  const all = await new Ledger({ ...world, session: record.id }).all();
  const files = await filesSeenBy(sessions, record.id);
  return {
    seen: all.filter((sighting) => sighting.how !== 'listing').length,
    outOfDate: files.filter(({ freshness }) => freshness === 'stale' || freshness === 'deleted').length,
    lastMs: lastUsedMs(record, all),
  };
}

async function viewersOf(
  world: World,
  {
    sessions,
    session,
  }: { readonly sessions: readonly SessionRecord[]; readonly session?: string | undefined },
  key: string,
): Promise<string[]> {
  if (session) return [session];
  const found: string[] = [];
  for (const { id } of sessions) if ((await world.store.recall(id, key)) !== undefined) found.push(id);
  return found;
}

/** Calls of hosts that passed without being judged. */
export interface UnjudgedCalls {
  /** At most `MAX_COUNTED`. */
  readonly count: number;
  readonly newest: Entry | undefined;
}

/** Older calls do not show whether the hooks work now. */
const UNJUDGED_MS = 7 * 24 * 60 * 60_000;
const MAX_COUNTED = 1000;

/** The unjudged calls of the last seven days, in a scope or everywhere. */
export async function unjudgedCalls(
  { store }: Pick<Records, 'store'>,
  { nowMs, scope }: { readonly nowMs: number; readonly scope?: Scope },
): Promise<UnjudgedCalls> {
  const entries = await store.entries({
    ...(scope?.filter ?? {}),
    kinds: ['unjudged'],
    sinceMs: nowMs - UNJUDGED_MS,
    limit: MAX_COUNTED,
  });
  return { count: entries.length, newest: entries[0] };
}

/** A grant in the form shown to users. */
export interface GrantView {
  readonly id: string;
  /** Full path of the file or folder. */
  readonly path: string;
  readonly session?: string;
  readonly once?: true;
  readonly atMs: number;
}

/** The session name that the journal uses for actions of the user at the command line. */
const WHO = 'command-line';

export interface GrantRequest {
  readonly cwd: string;
  readonly path: string;
  readonly scope: Scope;
  readonly session?: string | undefined;
  readonly once?: boolean | undefined;
  readonly nowMs: number;
}

/** Lets sessions change a file, or everything in a folder, without having read it. Running servers obey without a restart. */
export async function giveGrant(records: Records, request: GrantRequest): Promise<GrantView> {
  const { session, once, nowMs } = request;
  const { key } = canonicalPath(request.cwd, request.path);
  const { roots } = await surroundings(records, request.scope);
  const root = roots.find((each) => isInScope(key, each)) ?? canonicalPath(request.cwd, '.').key;
  const grant: Grant = {
    id: `g${randomBytes(4).toString('hex')}`,
    ...(session === undefined ? {} : { session }),
    ...(once === true ? { once } : {}),
  };
  const path = isInScope(key, root) ? relative(root, key) : key;
  await records.store.record({
    entries: [{ kind: 'grant', atMs: nowMs, session: WHO, root, path, key, grant }],
  });
  return { ...grant, path: key, atMs: nowMs };
}

/** The grants in force in a scope, newest first. */
export async function grantViews({ store }: Records, scope: Scope): Promise<GrantView[]> {
  return (await activeGrants(store, scope.filter)).map(viewOf);
}

/** Revokes the grants of a path, or the one with this id; of one session, if it is named. Returns those that were in force. */
export async function revokeGrants(
  { store }: Records,
  request: Omit<GrantRequest, 'once'>,
): Promise<GrantView[]> {
  const { key } = canonicalPath(request.cwd, request.path);
  const isMeant = (grant: ActiveGrant): boolean =>
    (grant.id === request.path || grant.key === key) && grant.session === (request.session ?? grant.session);
  const found = (await activeGrants(store, {})).filter(isMeant);
  const entries = found.map(({ entry, id }) => revocation(entry, { id, nowMs: request.nowMs }));
  if (entries.length > 0) await store.record({ entries });
  return found.map(viewOf);
}

function revocation(
  { root, path, key }: Entry,
  { id, nowMs }: { readonly id: string; readonly nowMs: number },
): NewEntry {
  return {
    kind: 'grant',
    atMs: nowMs,
    session: WHO,
    root,
    ...(path === undefined ? {} : { path }),
    ...(key === undefined ? {} : { key }),
    grant: { id, revoked: true },
  };
}

function viewOf({ id, key, session, once, entry }: ActiveGrant): GrantView {
  return {
    id,
    path: key,
    ...(session === undefined ? {} : { session }),
    ...(once === undefined ? {} : { once }),
    atMs: entry.atMs,
  };
}

/** A call that would have been refused, had the policy not only observed. */
export interface ObservedRefusal {
  readonly refusal: Entry;
  /**
   * The verdict of the bytes after the call. `right`: the change destroyed something that its session had not seen. `wrong`: it
   * destroyed nothing, so the refusal would have been a false alarm. `unknown`: no change followed, or its bytes are gone.
   */
  readonly verdict: 'right' | 'wrong' | 'unknown';
  /** The change that the call made. */
  readonly change?: string;
}

/** The observed refusals that match, newest first. */
export async function* observedRefusals(
  records: Records,
  filter: EntryFilter,
): AsyncGenerator<ObservedRefusal> {
  for await (const refusal of walkEntries(records.store, { ...filter, kinds: ['refusal'] }))
    if (refusal.observed === true) yield judged(records, refusal);
}

async function judged(records: Records, refusal: Entry): Promise<ObservedRefusal> {
  const key = refusal.key ?? absolutePathOf(refusal);
  if (key === undefined) return { refusal, verdict: 'unknown' };
  const { session, seq } = refusal;
  const [next] = await records.store.entries({
    session,
    key,
    kinds: ['change'],
    afterSeq: seq,
    order: 'oldest',
    limit: 1,
  });
  const effect = next?.effects?.find((each) => each.key === key);
  if (next === undefined || effect === undefined) return { refusal, verdict: 'unknown' };
  const verdict = await verdictOf(records, refusal, { ...effect, root: next.root });
  return { refusal, verdict, ...(next.change === undefined ? {} : { change: next.change }) };
}

async function verdictOf(
  records: Records,
  { seen }: Entry,
  effect: Effect & { readonly root: string },
): Promise<ObservedRefusal['verdict']> {
  const { before, after } = effect;
  if (before.kind === 'absent') return 'wrong';
  if (after.kind === 'absent') return 'right';
  const live = await textOf(records, before, effect);
  const left = await textOf(records, after, effect);
  if (live === undefined || left === undefined) return 'unknown';
  const known = seen?.fingerprint;
  const base =
    known === undefined
      ? undefined
      : await textOf(records, { kind: 'file', fingerprint: known, mode: 0, kept: true }, effect);
  const isLost =
    base === undefined || base === live ? dropsLines(live, left) : lostChanges(base, live, left).length > 0;
  return isLost ? 'right' : 'wrong';
}

async function textOf(
  { images }: Records,
  side: Effect['before'],
  effect: Effect & { readonly root: string },
): Promise<string | undefined> {
  if (side.kind !== 'file') return undefined;
  const found = await findBytes(images, side.fingerprint, effect);
  return 'missing' in found ? undefined : decodeText(found.bytes)?.text;
}

/** True if a line that is not blank occurs less often than before. */
function dropsLines(before: string, after: string): boolean {
  const left = new Map<string, number>();
  for (const line of linesOf(after)) left.set(line, (left.get(line) ?? 0) + 1);
  return linesOf(before).some((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count === 0;
  });
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** A change of more files, or of a larger file, is not counted: a list of entries must not read all of it. */
const MAX_COUNTED_FILES = 20;
const MAX_COUNTED_BYTES = 256 << 10;
const MAX_COUNTED_LINES = 20_000;

/** `+3 -1`: the lines that a change added and removed; empty if they cannot be counted. */
export async function changedLines(records: Records, entry: Entry): Promise<string> {
  const effects = entry.kind === 'change' && entry.action !== 'move' ? netEffects([entry]) : [];
  const sides = effects.flatMap(({ before, after }) => [before, after]);
  const isLarge = sides.some((side) => side.kind === 'file' && side.fingerprint.size > MAX_COUNTED_BYTES);
  if (effects.length === 0 || effects.length > MAX_COUNTED_FILES || isLarge) return '';
  let diff = '';
  for (const effect of effects) {
    const { text, truncated } = await records.diff(effect, { maxLines: MAX_COUNTED_LINES });
    if (truncated) return '';
    // The names of both sides come before the first hunk.
    diff += text.slice(text.indexOf('\n@@'));
  }
  const count = (lines: RegExp): number => diff.match(lines)?.length ?? 0;
  return `+${count(/^\+/gm)} -${count(/^-/gm)}`;
}
