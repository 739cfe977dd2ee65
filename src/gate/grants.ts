import { grantsFor } from '../journal/grants.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ForeignIntent } from '../model/intent.ts';
import type { RefusalCode } from '../model/verdict.ts';
import { judgeConfirmed } from './confirm.ts';
import { pathsOf } from './keys.ts';
import type { Denied } from './prepared.ts';
import type { World } from './world.ts';

/** The refusals from which a grant of the operator exempts: those for what a session has not seen. */
const EXEMPTED: ReadonlySet<RefusalCode> = new Set([
  'NOT_READ',
  'PARTIALLY_READ',
  'READ_EXPIRED',
  'STALE',
  'REDACTED_READ',
  'UNVERIFIABLE',
]);

/**
 * Judges a change, and judges it again if it was refused and the operator has granted its path with `lookfirst allow`.
 * Called under the lock of its files, so that a grant for one use is used once. A change that passes costs nothing more.
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
