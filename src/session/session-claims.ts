import { randomBytes } from 'node:crypto';
import type { World } from '../gate/world.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Claim, ClaimMark, ClaimOptions } from '../model/claim.ts';
import type { NewEntry } from '../model/entry.ts';
import { isWithin } from '../model/path.ts';
import type { Notice } from '../model/results.ts';
import { invalidArgument, type Outcome, refused } from '../model/verdict.ts';

const DEFAULT_MS = 60 * 60_000;
const MAX_MS = 24 * 60 * 60_000;
const MAX_REASON_CHARS = 200;
const MAX_GLOB_CHARS = 500;

/**
 * The subject of a claim or release: one path, with its contents if it is a folder, or a glob inside the first root.
 */
type Target = Pick<NewEntry, 'root' | 'path' | 'key'> & Pick<ClaimMark, 'glob'>;

/**
 * Claims a path or a glob for a session: other sessions that work on the same files get notices.
 * Returns the other sessions' claims on these files.
 */
export async function claim(
  world: World,
  ledger: Ledger,
  { target, options }: { readonly target: string; readonly options: ClaimOptions },
): Promise<Outcome<{ readonly claim: string; readonly others: readonly Claim[] }>> {
  const { forMs = DEFAULT_MS, reason } = options;
  const found = targetOf(world, target);
  if (!found.ok) return found;
  if (!Number.isInteger(forMs) || forMs < 1 || forMs > MAX_MS)
    return refused(
      invalidArgument('claim', target, `forMs must be from 1 to ${MAX_MS} (24 hours), not ${forMs}`),
    );
  const id = `k${randomBytes(4).toString('hex')}`;
  const { glob, ...place } = found.target;
  const untilMs = world.now() + forMs;
  const mark: ClaimMark = {
    id,
    untilMs,
    ...(glob === undefined ? {} : { glob }),
    ...(reason === undefined ? {} : { reason: reason.slice(0, MAX_REASON_CHARS) }),
  };
  const others = await othersOn(world, ledger, found.target);
  const entry: NewEntry = { kind: 'claim', atMs: world.now(), ...ledger.author, ...place, claim: mark };
  await world.store.record({ entries: [entry] });
  return { ok: true, claim: id, others };
}

/**
 * Ends the session's claims on exactly this path or glob, or all its claims if there is no target.
 */
export async function release(
  world: World,
  ledger: Ledger,
  target?: string,
): Promise<Outcome<{ readonly released: number }>> {
  const { session } = ledger;
  const own = world.claims.board.all().filter((each) => each.session === session);
  if (target === undefined) {
    if (own.length > 0) await world.store.record(releaseWrites(world, session));
    return { ok: true, released: own.length };
  }
  const found = targetOf(world, target);
  if (!found.ok) return found;
  const { glob, ...place } = found.target;
  const ended = own.filter((each) => (glob === undefined ? each.key === place.key : each.glob === glob));
  if (ended.length === 0) return { ok: true, released: 0 };
  const mark: ClaimMark = { released: true, ...(glob === undefined ? {} : { glob }) };
  const entry: NewEntry = { kind: 'claim', atMs: world.now(), ...ledger.author, ...place, claim: mark };
  await world.store.record({ entries: [entry] });
  return { ok: true, released: ended.length };
}

/**
 * Ends the claims that a session got on files by changing them, at the end of its turn. Explicit
 * claims stay.
 */
export async function endTurn(world: World, { session }: Ledger): Promise<void> {
  const own = world.claims.board.all().filter((each) => each.session === session && each.by === 'change');
  if (own.length === 0) return;
  const [entry] = releaseWrites(world, session).entries ?? [];
  if (entry === undefined) return;
  await world.store.record({ entries: [{ ...entry, claim: { released: true, turnEnded: true } }] });
}

/** Ends all sessions' claims on files in a folder that no longer exists, for example a removed worktree. */
export async function releaseWithin(world: World, folder: string): Promise<void> {
  if (folder === '') return;
  const inside = world.claims.board.all().filter(({ key }) => isWithin(key ?? '', folder));
  const entries = inside.map(({ session, root, path, key }): NewEntry => {
    const file = key === undefined ? { path } : { path, key };
    return { kind: 'claim', atMs: world.now(), session, root, ...file, claim: { released: true } };
  });
  if (entries.length > 0) await world.store.record({ entries });
}

/** One notice about other sessions at work, for the beginning of a turn. Undefined if there are none. */
export async function othersAtWork(world: World, ledger: Ledger): Promise<Notice | undefined> {
  const found = await world.claims.atWork(ledger);
  if (found === undefined) return undefined;
  await world.store.note({ sightings: [], entries: found.entries });
  return found.notice;
}

/** The writes to the store that end all claims of a session. Empty if it has none. */
function releaseWrites(world: World, session: string): { readonly entries?: readonly NewEntry[] } {
  if (!world.claims.board.all().some((each) => each.session === session)) return {};
  const root = world.workspace.roots[0] ?? '';
  return { entries: [{ kind: 'claim', atMs: world.now(), session, root, claim: { released: true } }] };
}

function targetOf(world: World, target: string): Outcome<{ readonly target: Target }> {
  if (target === '') return refused(invalidArgument('claim', target, 'name a path or a glob'));
  if (/[*?[\]{}]/.test(target)) {
    if (target.length > MAX_GLOB_CHARS)
      return refused(invalidArgument('claim', target.slice(0, 80), 'the glob is too long'));
    return { ok: true, target: { root: world.workspace.roots[0] ?? '', glob: target } };
  }
  const resolved = world.workspace.resolve(target, 'claim');
  if (!resolved.ok) return resolved;
  const { root, relative, key } = resolved.path;
  return { ok: true, target: { root, path: relative, key } };
}

/** Other sessions' claims on the same path, on a path inside or above it, or on the same glob. */
async function othersOn(world: World, { session }: Ledger, { key, glob }: Target): Promise<readonly Claim[]> {
  const isNear = (other: string): boolean =>
    key !== undefined && (isWithin(other, key) || isWithin(key, other));
  return (await world.claims.inFamily())
    .filter((each) => each.session !== session)
    .filter((each) => (each.key === undefined ? each.glob === glob : isNear(each.key)));
}
