import { CLAIM_MS, claimsIn, inForce } from '../journal/claims.ts';
import { isStub } from '../judge/facts.ts';
import type { Claim } from '../model/claim.ts';
import type { Policy } from '../model/policy.ts';
import type { Sighting } from '../model/sighting.ts';
import { isAlive } from '../store/owner.ts';
import { RECENT_ENTRIES } from '../store/store.ts';
import { Knowledge } from '../views/knowledge.ts';
import type { Records } from './records.ts';
import type { Scope } from './scope.ts';

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
    event: 'forgotten',
    text: 'forgotten',
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
  const about = { atMs: nowMs, session: id, root };
  const entry = { kind: 'session', ...about, event: 'compacted', text: 'compacted' } as const;
  await store.record({ entries: [entry] });
  return seen;
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
