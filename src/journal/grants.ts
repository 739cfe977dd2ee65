import type { Entry } from '../model/entry.ts';
import { ancestorsOf } from '../store/entry-match.ts';
import type { EntryFilter, Store } from '../store/store.ts';
import { walkEntries } from './journal.ts';

/** The operator's leave to change a path without having read it. */
export interface ActiveGrant {
  readonly id: string;
  /** Canonical path of a file, or of a folder with everything in it. */
  readonly key: string;
  /** Only this session. */
  readonly session?: string;
  readonly once?: true;
  readonly entry: Entry;
}

/** The grants in force: given, not revoked, and not used if they were for one use. Newest first. */
export async function activeGrants(store: Store, filter: EntryFilter): Promise<ActiveGrant[]> {
  const active: ActiveGrant[] = [];
  const revoked = new Set<string>();
  for await (const entry of walkEntries(store, { ...filter, kinds: ['grant'] })) {
    const { grant, key } = entry;
    if (grant === undefined || key === undefined) continue;
    if (grant.revoked === true) revoked.add(grant.id);
    const isOver = revoked.has(grant.id) || (grant.once === true && (await isUsed(store, entry)));
    const { revoked: _, ...given } = grant;
    if (!isOver) active.push({ ...given, key, entry });
  }
  return active;
}

/** The grants in force by which a session may change one of these keys: of the file itself or of a folder around it. */
export async function grantsFor(
  store: Store,
  keys: readonly string[],
  session: string,
): Promise<ActiveGrant[]> {
  const found = await activeGrants(store, { keys: [...new Set(keys.flatMap(ancestorsOf))] });
  return found.filter((grant) => grant.session === undefined || grant.session === session);
}

/** True for the granted file, and for everything in a granted folder. */
export function covers({ key: granted }: Pick<ActiveGrant, 'key'>, key: string): boolean {
  return key === granted || key.startsWith(granted.endsWith('/') ? granted : `${granted}/`);
}

async function isUsed(store: Store, { grant, seq }: Entry): Promise<boolean> {
  for await (const use of walkEntries(store, { kinds: ['bypass'], afterSeq: seq }))
    if (use.grant?.id === grant?.id) return true;
  return false;
}
