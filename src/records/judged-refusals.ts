import type { Effect, Entry } from '../model/entry.ts';
import type { RefusalCode } from '../model/verdict.ts';
import { type EntryFilter, walkEntries } from '../store/store.ts';
import { decodeText } from '../text/decode.ts';
import { losesChange } from '../text/lost-change.ts';
import { absolutePathOf } from './entry-words.ts';
import { findBytes } from './net-effects.ts';
import type { Records } from './records.ts';

/** A refusal that was only recorded, because the policy has `mode: observe`. The call went through. */
export interface ObservedRefusal {
  readonly refusal: Entry;
  /**
   * The judgement of the refusal from the bytes after the call. `right`: the change destroyed something that its
   * session had not seen. `wrong`: it destroyed nothing, so the refusal would have been a false alarm. `unknown`: no
   * change followed, or its bytes are gone.
   */
  readonly verdict: 'right' | 'wrong' | 'unknown';
  /** Id of the change that the call made. */
  readonly change?: string;
}

/** The observed refusals that match the filter, newest first. */
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
  const isLost = base === undefined || base === live ? dropsLines(live, left) : losesChange(base, live, left);
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

/** True if a non-blank line occurs less often in `after` than in `before`. */
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

/** Refusals that claim that the file is not as the session saw it. */
const OF_CHANGE: ReadonlySet<RefusalCode> = new Set([
  'STALE',
  'READ_EXPIRED',
  'DELETED',
  'REVISION_MISMATCH',
]);

/**
 * The sign of a needless refusal. `unchanged-bytes`: the file was as the session saw it. `same-content`: the session
 * read the file again and then wrote what was refused before.
 */
type Alarm = 'unchanged-bytes' | 'same-content' | undefined;

/**
 * The reason why a refusal was a false alarm; undefined if it was right or cannot be judged. `next`: the session's next
 * change of the file.
 */
export function falseAlarm(refusal: Entry, next: Entry | undefined): Alarm {
  const { code, sha256, seen, content, observed } = refusal;
  if (code === undefined) return undefined;
  const was = seen?.fingerprint?.sha256;
  if (OF_CHANGE.has(code) && was !== undefined && was === sha256 && seen?.lines !== 'none')
    return 'unchanged-bytes';
  // In observe mode the call itself writes the content. That does not prove that the session had
  // read the file before.
  if (observed === true) return undefined;
  const key = next?.effects?.find(({ relative }) => relative === refusal.path);
  const wrote = key?.after.kind === 'file' ? key.after.fingerprint.sha256 : undefined;
  const met = key?.before.kind === 'file' ? key.before.fingerprint.sha256 : undefined;
  return content !== undefined && wrote === content && met === sha256 ? 'same-content' : undefined;
}

/**
 * Returns the refusals that were false alarms, newest first. `entries` must be sorted oldest first.
 */
export function falseAlarms(entries: readonly Entry[]): Entry[] {
  const nextChange = new Map<string, Entry>();
  const found: Entry[] = [];
  for (const entry of entries.toReversed()) {
    if (entry.kind === 'change')
      for (const { relative } of entry.effects ?? []) nextChange.set(`${entry.session}\0${relative}`, entry);
    else if (falseAlarm(entry, nextChange.get(`${entry.session}\0${entry.path}`)) !== undefined)
      found.push(entry);
  }
  return found;
}
