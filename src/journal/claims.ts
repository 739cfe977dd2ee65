import type { Claim } from '../model/claim.ts';
import { byPath, type Delta, isOfFolder, type State } from '../model/delta.ts';
import { COMMAND_LINE, type Entry, type NewChangeEntry } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import { defined } from '../model/record.ts';
import type { Store } from '../store/store.ts';

/** A session that changes a file claims it for this time, or until its turn ends. */
export const CLAIM_MS: number = 10 * 60_000;

/**
 * The claims that these changes (newest first) make: one for each session and file. `keys` limits
 * them to these files.
 */
export function claimsIn(changes: readonly NewChangeEntry[], keys?: readonly string[]): readonly Claim[] {
  const claims = new Map<string, Claim>();
  const wanted = keys === undefined ? undefined : new Set(keys);
  for (const entry of changes.filter(isWork))
    for (const delta of byPath(entry.deltas)) {
      if (wanted?.has(delta.key) === false || isOfFolder(delta)) continue;
      const id = `${entry.session}\0${delta.key}`;
      const newer = claims.get(id);
      if (newer === undefined) claims.set(id, claimOf(entry, delta));
      // An older change in another turn belongs to a claim that has ended.
      else if (newer.turn === entry.turn) claims.set(id, since(newer, entry, delta));
    }
  return [...claims.values()];
}

/** False for a user's command and for an undo, which does not show that a session works on a file. */
function isWork({ session, undoes, undoesPart }: NewChangeEntry): boolean {
  return session !== COMMAND_LINE && undoes === undefined && undoesPart === undefined;
}

function claimOf(
  { session, turn, root, atMs }: NewChangeEntry,
  { key, relative, before, after }: Delta,
): Claim {
  return {
    session,
    key,
    root,
    path: relative,
    sinceMs: atMs,
    atMs,
    untilMs: atMs + CLAIM_MS,
    ...defined({ turn, before: fingerprintIn(before), after: fingerprintIn(after) }),
  };
}

/** This claim, begun by an earlier change. */
function since({ before: _, ...claim }: Claim, { atMs }: NewChangeEntry, { before }: Delta): Claim {
  return { ...claim, sinceMs: atMs, ...defined({ before: fingerprintIn(before) }) };
}

function fingerprintIn(side: State): Fingerprint | undefined {
  return side.kind === 'file' ? side.fingerprint : undefined;
}

/**
 * Those of the claims that have not ended, with the clients' names. A claim ends when its session is
 * closed or forgotten, and when its turn ends or the next one begins.
 */
export async function inForce(
  store: Pick<Store, 'entries' | 'session'>,
  claims: readonly Claim[],
): Promise<readonly Claim[]> {
  const found: Claim[] = [];
  for (const claim of claims) {
    const record = await store.session(claim.session);
    if (record === undefined || record.closedMs !== undefined) continue;
    // A sub-agent works within the turn of its parent.
    const parent = record.forked === true ? undefined : record.parent;
    if (await hasEnded(store, claim, claim.session)) continue;
    if (parent !== undefined && (await hasEnded(store, claim, parent))) continue;
    found.push(record.client === undefined ? claim : { ...claim, client: record.client });
  }
  return found;
}

/** True if `session` has ended the claim's turn, or begun another one, since the file was changed. */
async function hasEnded(
  store: Pick<Store, 'entries'>,
  { turn, atMs }: Claim,
  session: string,
): Promise<boolean> {
  const events = await store.entries({ session, kinds: ['turn', 'session'], sinceMs: atMs });
  const newest = events.find(
    (entry) => entry.kind === 'turn' || entry.event === 'turn-ended' || entry.event === 'forgotten',
  );
  return newest !== undefined && (newest.kind !== 'turn' || newest.turn !== turn);
}

/** True if this journal entry told its session about claims on a file. */
export function tellsOfClaims(entry: Entry): boolean {
  return entry.kind === 'notice' && entry.notices?.includes('claimed') === true;
}
