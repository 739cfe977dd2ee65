import { randomBytes } from 'node:crypto';
import { relative } from 'node:path';
import { type ActiveGrant, activeGrants } from '../journal/grants.ts';
import { COMMAND_LINE, type Entry, type EntryOf, type NewEntry } from '../model/entry.ts';
import { isWithin } from '../model/path.ts';
import { defined } from '../model/record.ts';
import type { Records } from './records.ts';
import { canonicalPath, type Scope } from './scope.ts';
import { surroundings } from './status-views.ts';

/** A grant (permission to change files without reading them) in the form shown to users. */
interface GrantView {
  readonly id: string;
  /** Full path of the file or folder. */
  readonly path: string;
  readonly session?: string;
  readonly once?: true;
  /** The permission ends at this time. */
  readonly untilMs?: number;
  readonly atMs: number;
}

interface GrantRequest {
  readonly cwd: string;
  readonly path: string;
  readonly scope: Scope;
  readonly session?: string | undefined;
  readonly once?: boolean | undefined;
  readonly untilMs?: number | undefined;
  readonly nowMs: number;
}

/**
 * Lets sessions change a file, or everything in a folder, without having read it. Takes effect in
 * running servers without a restart.
 */
export async function giveGrant(records: Records, request: GrantRequest): Promise<GrantView> {
  const { session, once, untilMs, nowMs } = request;
  const { key } = canonicalPath(request.cwd, request.path);
  const { roots } = await surroundings(records, request.scope);
  const root = roots.find((each) => isWithin(key, each)) ?? canonicalPath(request.cwd, '.').key;
  const grant: NonNullable<EntryOf<'grant'>['grant']> = {
    id: `g${randomBytes(4).toString('hex')}`,
    ...(session === undefined ? {} : { session }),
    ...(once === true ? { once } : {}),
    ...defined({ untilMs }),
  };
  const path = isWithin(key, root) ? relative(root, key) : key;
  await records.store.record({
    entries: [{ kind: 'grant', atMs: nowMs, session: COMMAND_LINE, root, path, key, grant }],
  });
  return { ...grant, path: key, atMs: nowMs };
}

/**
 * The grants (permissions to change files without reading them) in force in a scope, newest first.
 */
export async function grantViews({ store }: Records, scope: Scope): Promise<GrantView[]> {
  return (await activeGrants(store, scope.filter)).map(viewOf);
}

/**
 * Revokes the grants of a path, or the grant with this id. If the request names a session, revokes
 * only grants of that session. Returns the revoked grants.
 */
export async function revokeGrants(
  { store }: Records,
  request: Omit<GrantRequest, 'once' | 'untilMs'>,
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
    session: COMMAND_LINE,
    root,
    ...defined({ path, key }),
    grant: { id, revoked: true },
  };
}

function viewOf({ id, key, session, once, entry }: ActiveGrant): GrantView {
  return {
    id,
    path: key,
    ...defined({ session, once }),
    atMs: entry.atMs,
  };
}
