import { CLAIM_MS, claimsIn, inForce } from '../journal/claims.ts';
import { isStub } from '../judge/facts.ts';
import type { Claim } from '../model/claim.ts';
import type { Entry } from '../model/entry.ts';
import type { Policy } from '../model/policy.ts';
import type { SessionRecord } from '../model/session-record.ts';
import type { Sighting } from '../model/sighting.ts';
import { isAlive } from '../store/owner.ts';
import { RECENT_ENTRIES } from '../store/store.ts';
import { Knowledge } from '../views/knowledge.ts';
import type { Records } from './records.ts';
import type { Scope } from './scope.ts';

/**
 * A session with its newest turn. If machines share the store, also the machine and workspace where
 * it works.
 */
export interface PlacedSession extends SessionRecord {
  /**
   * The label or id of the session's newest turn. Absent if the turn is older than the last `MAX_TURNS` turns in scope.
   */
  readonly turn?: string;
  readonly machine?: string;
  readonly workspace?: string;
}

/** Maximum number of newest turns that are searched for the newest turn of each session. */
const MAX_TURNS = 1000;

/**
 * Adds to each session its newest turn. If machines share the store, also adds the machine of the
 * session's newest entry, and the workspace of the session's root.
 */
export async function placedSessions(
  { store, fleet }: Pick<Records, 'store' | 'fleet'>,
  scope: Scope,
  records: readonly SessionRecord[],
): Promise<readonly PlacedSession[]> {
  if (records.length === 0) return [];
  // All queries are sent together, so that a store on another machine costs one round trip.
  const newestOf = ({ id }: SessionRecord): Promise<readonly Entry[]> =>
    fleet === undefined ? Promise.resolve([]) : store.entries({ session: id, limit: 1 });
  const [marks, ...newest] = await Promise.all([
    store.entries({ ...scope.filter, kinds: ['turn'], limit: MAX_TURNS }),
    ...records.map(newestOf),
  ]);
  return records.map((record, index) => {
    const mark = marks.find(({ session }) => session === record.id);
    const turn = mark?.label ?? mark?.turn;
    const session = turn === undefined ? record : { ...record, turn };
    if (fleet === undefined) return session;
    const machine = newest[index]?.[0]?.machine ?? fleet.machine;
    return { ...session, machine, workspace: fleet.workspaceOf(record.root) };
  });
}

/** Up to this number, sessions are not sorted by their last use, which would take a query for each. */
const FEW_SESSIONS = 20;
/**
 * Maximum number of concurrent queries. A fleet may have thousands of sessions, with one query for
 * each. One after the other, the queries would take too long, because each is a round trip.
 */
const AT_ONCE = 64;

/**
 * Sorts sessions by their last use, newest first. If there are at most `FEW_SESSIONS` and the caller
 * lists all of them, leaves them in the given order. Records have only the times of opening and
 * closing, so the newest journal entry of each open session counts as well. Otherwise a list of the
 * newest sessions would lack one that was opened long ago and is in use.
 */
export async function byLastUse<T extends SessionRecord>(
  { store }: Pick<Records, 'store'>,
  records: readonly T[],
  listed: number = FEW_SESSIONS,
): Promise<readonly T[]> {
  if (records.length <= Math.min(FEW_SESSIONS, listed)) return records;
  const open = records.filter(({ closedMs }) => closedMs === undefined);
  const used = new Map<string, number>();
  for (let at = 0; at < open.length; at += AT_ONCE)
    await Promise.all(
      open.slice(at, at + AT_ONCE).map(async ({ id }) => {
        const [newest] = await store.entries({ session: id, limit: 1 });
        used.set(id, newest?.atMs ?? 0);
      }),
    );
  const lastMs = (record: T): number => Math.max(record.lastMs, used.get(record.id) ?? 0);
  return records.toSorted((a, b) => lastMs(b) - lastMs(a));
}

/**
 * Forgets which files a session has seen, ends its claims, and records this in the journal. The
 * session stays listed while a process of this machine has it open. Returns the number of forgotten
 * files; undefined if there is no such session.
 */
export async function forgetSession(
  { store }: Records,
  { id, nowMs }: { readonly id: string; readonly nowMs: number },
): Promise<number | undefined> {
  const record = await store.session(id);
  if (record === undefined) return undefined;
  const { root } = record;
  const entry = {
    kind: 'session',
    atMs: nowMs,
    session: id,
    root,
    text: 'forgotten',
    endsTurn: true,
  } as const;
  const seen = filesAmong(await store.sightings(id));
  const isOpen = record.openIn?.some(isAlive) === true;
  await store.record({ ...(isOpen ? { forget: [{ session: id }] } : { dropSession: id }), entries: [entry] });
  return seen;
}

/**
 * Records that a session's conversation was compacted. The policy decides whether files that the
 * session saw earlier still count as seen. Returns the number of these files; undefined if there is
 * no such session.
 */
export async function compactSession(
  { store }: Records,
  { id, nowMs, policy }: { readonly id: string; readonly nowMs: number; readonly policy: Policy },
): Promise<number | undefined> {
  const record = await store.session(id);
  if (record === undefined) return undefined;
  const { root } = record;
  const seen = filesAmong(await store.sightings(id));
  await new Knowledge({ store, session: id, policy }).compacted();
  const entry = { kind: 'session', atMs: nowMs, session: id, root, text: 'compacted' } as const;
  await store.record({ entries: [entry] });
  return seen;
}

/**
 * The time a session was last used: the time in its record, or that of its last read if that is
 * later.
 */
export function lastUsedMs({ lastMs }: SessionRecord, seen: readonly Pick<Sighting, 'atMs'>[]): number {
  return seen.reduce((last, { atMs }) => Math.max(last, atMs), lastMs);
}

/** Counts files. Leaves out listed folders, and files that the session has forgotten or deleted. */
function filesAmong(sightings: readonly Sighting[]): number {
  return sightings.filter((each) => each.tombstone !== true && each.how !== 'listing' && !isStub(each))
    .length;
}

interface ClaimRequest {
  readonly scope: Scope;
  readonly session?: string | undefined;
  readonly nowMs: number;
}

/** Which session works on which file in a scope, newest first: the changes whose turn is still open. */
export async function claimViews(
  { store }: Records,
  { scope, session, nowMs }: ClaimRequest,
): Promise<readonly Claim[]> {
  const recent = { kinds: ['change'], sinceMs: nowMs - CLAIM_MS + 1, limit: RECENT_ENTRIES } as const;
  const claims = claimsIn(await store.entries(recent));
  const isWanted = (claim: Claim): boolean =>
    scope.includes(claim.root) && claim.session === (session ?? claim.session);
  return inForce(store, claims.filter(isWanted));
}
