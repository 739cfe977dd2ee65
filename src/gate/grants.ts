import { hash } from 'node:crypto';
import { grantsFor } from '../journal/grants.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ForeignIntent } from '../model/intent.ts';
import type { Sighting } from '../model/sighting.ts';
import type { FileState, Refusal, RefusalCode } from '../model/verdict.ts';
import { pathsOf } from './keys.ts';
import { type Denied, notPrepared } from './prepared.ts';
import { foundAt } from './side-at.ts';
import type { World } from './world.ts';

/** The refusals that an operator's grant overrides: those about content the session has not seen. */
const EXEMPTED: ReadonlySet<RefusalCode> = new Set([
  'NOT_READ',
  'PARTIALLY_READ',
  'READ_EXPIRED',
  'STALE',
  'REDACTED_READ',
  'UNVERIFIABLE',
]);

/**
 * Judges a change. If it is refused and the operator has granted its path with `lookfirst allow`, judges again. Called
 * under the lock of its files, so that a grant for one use is used once. A change that passes costs nothing extra.
 */
export async function judgeGranted<T extends { readonly ok: true }>(
  world: World,
  ledger: Ledger,
  judging: { readonly change: ForeignIntent; readonly judge: (world: World) => Promise<T | Denied> },
): Promise<T | Denied> {
  const judged = await judgeConfirmed(world, ledger, judging);
  if (judged.ok || !EXEMPTED.has(judged.refusal.code)) return judged;
  const { change } = judging;
  const paths = change.kind === 'touch' ? [change.path] : pathsOf(change);
  const keys = paths.flatMap((path) => {
    const resolved = world.workspace.resolve(path, 'status');
    return resolved.ok ? [resolved.path.key] : [];
  });
  const granted = await grantsFor(world.store, keys, ledger.session);
  return granted.length === 0 ? judged : judgeConfirmed({ ...world, granted }, ledger, judging);
}

/**
 * Judges a change under `staleness: confirm`: the first try of a stale change is refused with a warning. The same
 * change passes when repeated, unless the file has changed again. Under other settings it only judges.
 */
async function judgeConfirmed<T extends { readonly ok: true }>(
  world: World,
  ledger: Ledger,
  {
    change,
    judge,
  }: { readonly change: ForeignIntent; readonly judge: (world: World) => Promise<T | Denied> },
): Promise<T | Denied> {
  const judged = await judge(world);
  if (world.policy.staleness !== 'confirm' || judged.ok || judged.refusal.code !== 'STALE') return judged;
  const held = await holdBack(world, ledger, { change, refusal: judged.refusal });
  if (held !== 'confirmed') return held === undefined ? judged : { ...judged, ...held };
  return judge({ ...world, policy: { ...world.policy, staleness: 'warn' } });
}

/** The warning for the first try, and the record of it. Undefined if there is no sighting to store the record in. */
async function holdBack(
  world: World,
  ledger: Ledger,
  { change, refusal }: { readonly change: ForeignIntent; readonly refusal: Refusal },
): Promise<Denied | 'confirmed' | undefined> {
  const path = change.kind === 'move' ? change.destination : change.path;
  const resolved = world.workspace.resolve(path, 'status');
  const sighting = resolved.ok ? await ledger.recall(resolved.path.key) : undefined;
  if (sighting?.fingerprint === undefined) return undefined;
  const { snapshot } = await foundAt(world, sighting.key);
  if (snapshot === undefined) return undefined;
  const heldBack = { change: hashOf(change), bytes: snapshot.fingerprint.sha256 };
  const before = sighting.heldBack;
  if (before?.change === heldBack.change && before.bytes === heldBack.bytes) return 'confirmed';
  const seen = { ...sighting.fingerprint, ...timeOf(sighting) };
  const now = { ...snapshot.fingerprint, mtimeMs: Number(snapshot.stamp.mtimeNs / 1_000_000n) };
  const { revision: _, ...detail } = refusal.detail ?? {};
  return notPrepared({ ...refusal, detail: { ...detail, seen, now } }, { ...sighting, heldBack });
}

function timeOf({ stamp }: Sighting): Pick<FileState, 'mtimeMs'> {
  return stamp === undefined ? {} : { mtimeMs: Number(stamp.mtimeNs / 1_000_000n) };
}

/** Hash of a change as the caller gave it; equal hashes mean equal changes. */
function hashOf(change: ForeignIntent): string {
  const text = JSON.stringify(change, (_key, value: unknown) =>
    value instanceof Uint8Array ? hash('sha256', value, 'hex') : value,
  );
  return hash('sha256', text, 'hex');
}
