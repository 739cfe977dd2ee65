import { ClaimBoard } from '../journal/claim-board.ts';
import type { Claim } from '../model/claim.ts';
import type { NewEntry } from '../model/entry.ts';
import { canonicalPath } from './canonical-path.ts';
import type { Records } from './records.ts';
import type { Scope } from './scope.ts';

interface ClaimRequest {
  readonly scope: Scope;
  readonly session?: string | undefined;
  readonly claimMs: number;
  readonly nowMs: number;
}

/** The claims in a scope, newest first. Claims of closed sessions are left out. */
export async function claimViews(
  { store }: Records,
  { scope, session, claimMs, nowMs }: ClaimRequest,
): Promise<readonly Claim[]> {
  const board = new ClaimBoard({ store, claimMs, now: () => nowMs });
  const views: Claim[] = [];
  for (const claim of board.all()) {
    if (!scope.includes(claim.root) || claim.session !== (session ?? claim.session)) continue;
    const record = await store.session(claim.session);
    if (record === undefined || record.closedMs !== undefined) continue;
    views.push(record.client === undefined ? claim : { ...claim, client: record.client });
  }
  return views;
}

/** Ends claims for the user: those on exactly this path or glob, or with this id; without one, all that match the request. */
export async function releaseClaims(
  records: Records,
  { cwd, target, ...request }: ClaimRequest & { readonly cwd: string; readonly target?: string | undefined },
): Promise<readonly Claim[]> {
  const key = target === undefined ? undefined : canonicalPath(cwd, target).key;
  const isMeant = (claim: Claim): boolean =>
    target === undefined || [claim.id, claim.glob].includes(target) || claim.key === key;
  const ended = (await claimViews(records, request)).filter(isMeant);
  const entries = ended.map(({ session, root, path, key: file, glob }): NewEntry => {
    const what = glob === undefined ? { path, ...(file === undefined ? {} : { key: file }) } : {};
    const claim = { released: true, ...(glob === undefined ? {} : { glob }) } as const;
    return { kind: 'claim', atMs: request.nowMs, session, root, ...what, claim };
  });
  if (entries.length > 0) await records.store.record({ entries });
  return ended;
}
