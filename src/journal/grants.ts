import type { Entry, EntryOf } from '../model/entry.ts';
import { ancestorsOf } from '../store/entry-columns.ts';
import { type EntryFilter, type Store, walkEntries } from '../store/store.ts';

/** The operator's permission to change a path without having read it. */
export interface ActiveGrant {
  readonly id: string;
  /** Canonical path of a file, or of a folder including its contents. */
  readonly key: string;
  /** Restricts the grant to this session. */
  readonly session?: string;
  readonly once?: true;
  readonly untilMs?: number;
  readonly entry: Entry;
}

/**
 * The active grants, newest first: not revoked, not expired and, if a grant is valid for one use
 * only, not used.
 */
export async function activeGrants(store: Store, filter: EntryFilter): Promise<ActiveGrant[]> {
  const active: ActiveGrant[] = [];
  const revoked = new Set<string>();
  for await (const entry of walkEntries(store, { ...filter, kinds: ['grant'] })) {
    const { grant, key } = entry;
    if (grant === undefined || key === undefined) continue;
    if (grant.revoked === true) revoked.add(grant.id);
    const { untilMs = Infinity } = grant;
    const isOver =
      revoked.has(grant.id) || untilMs <= Date.now() || (grant.once === true && (await isUsed(store, entry)));
    const { revoked: _, ...given } = grant;
    if (!isOver) active.push({ ...given, key, entry });
  }
  return active;
}

/** Active grants that let a session change one of these keys: on the file itself or on a folder above it. */
export async function grantsFor(
  store: Store,
  keys: readonly string[],
  session: string,
): Promise<ActiveGrant[]> {
  const found = await activeGrants(store, { keys: [...new Set(keys.flatMap(ancestorsOf))] });
  return found.filter((grant) => grant.session === undefined || grant.session === session);
}

async function isUsed(store: Store, { grant, seq }: EntryOf<'grant'>): Promise<boolean> {
  for await (const use of walkEntries(store, { kinds: ['bypass'], afterSeq: seq }))
    if (use.grant?.id === grant?.id) return true;
  return false;
}
