import type { Effect, Entry } from '../model/entry.ts';
import { type EntryFilter, walkEntries } from '../store/store.ts';
import { decodeText } from '../text/decode.ts';
import { lostChanges } from '../text/lost-change.ts';
import { absolutePathOf } from './entry-words.ts';
import { findBytes } from './net-effects.ts';
import type { Records } from './records.ts';

/** A call that would have been refused, had the policy not only observed. */
export interface ObservedRefusal {
  readonly refusal: Entry;
  /**
   * The verdict of the bytes after the call. `right`: the change destroyed something that its session had not seen. `wrong`: it
   * destroyed nothing, so the refusal would have been a false alarm. `unknown`: no change followed, or its bytes are gone.
   */
  readonly verdict: 'right' | 'wrong' | 'unknown';
  /** The change that the call made. */
  readonly change?: string;
}

/** The observed refusals that match, newest first. */
export async function* observedRefusals(
  records: Records,
  filter: EntryFilter,
): AsyncGenerator<ObservedRefusal> {
  for await (const refusal of walkEntries(records.store, { ...filter, kinds: ['refusal'] }))
    if (refusal.observed === true) yield judged(records, refusal);
}

async function judged(records: Records, refusal: Entry): Promise<ObservedRefusal> {
  const key = refusal.key ?? absolutePathOf(refusal);
  if (key === undefined) return { refusal, verdict: 'unknown' };
  const { session, seq } = refusal;
  const [next] = await records.store.entries({
    session,
    key,
    kinds: ['change'],
    afterSeq: seq,
    order: 'oldest',
    limit: 1,
  });
  const effect = next?.effects?.find((each) => each.key === key);
  if (next === undefined || effect === undefined) return { refusal, verdict: 'unknown' };
  const verdict = await verdictOf(records, refusal, { ...effect, root: next.root });
  return { refusal, verdict, ...(next.change === undefined ? {} : { change: next.change }) };
}

async function verdictOf(
  records: Records,
  { seen }: Entry,
  effect: Effect & { readonly root: string },
): Promise<ObservedRefusal['verdict']> {
  const { before, after } = effect;
  if (before.kind === 'absent') return 'wrong';
  if (after.kind === 'absent') return 'right';
  const live = await textOf(records, before, effect);
  const left = await textOf(records, after, effect);
  if (live === undefined || left === undefined) return 'unknown';
  const known = seen?.fingerprint;
  const base =
    known === undefined
      ? undefined
      : await textOf(records, { kind: 'file', fingerprint: known, mode: 0, kept: true }, effect);
  const isLost =
    base === undefined || base === live ? dropsLines(live, left) : lostChanges(base, live, left).length > 0;
  return isLost ? 'right' : 'wrong';
}

async function textOf(
  { images }: Records,
  side: Effect['before'],
  effect: Effect & { readonly root: string },
): Promise<string | undefined> {
  if (side.kind !== 'file') return undefined;
  const found = await findBytes(images, side.fingerprint, effect);
  return 'missing' in found ? undefined : decodeText(found.bytes)?.text;
}

/** True if a line that is not blank occurs less often than before. */
function dropsLines(before: string, after: string): boolean {
  const left = new Map<string, number>();
  for (const line of linesOf(after)) left.set(line, (left.get(line) ?? 0) + 1);
  return linesOf(before).some((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count === 0;
  });
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
