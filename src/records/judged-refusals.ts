import type { State } from '../model/delta.ts';
import { byPath, type Delta, lastAt } from '../model/delta.ts';
import { type ChangeEntry, type Entry, type EntryOf, isChange } from '../model/entry.ts';
import type { RefusalCode } from '../model/verdict.ts';
import { type EntryFilter, walkEntries } from '../store/store.ts';
import { diffLines } from '../text/diff.ts';
import { lineCount } from '../text/lines.ts';
import { losesChange } from '../text/lost-change.ts';
import { absolutePathOf } from './entry-words.ts';
import { countIn, parseLines } from './line-ranges.ts';
import { findText, sizeOfHunks } from './path-diffs.ts';
import type { Records } from './records.ts';

/** A refusal that was only recorded, because the policy has `mode: observe`. The call went through. */
export interface ObservedRefusal {
  readonly refusal: EntryOf<'refusal'>;
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

async function judged(records: Records, refusal: EntryOf<'refusal'>): Promise<ObservedRefusal> {
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
  const delta = lastAt(next?.deltas, key);
  if (next === undefined || delta === undefined) return { refusal, verdict: 'unknown' };
  const verdict = await verdictOf(records, refusal, { ...delta, root: next.root });
  return { refusal, verdict, change: next.change };
}

async function verdictOf(
  { images }: Records,
  { seen }: EntryOf<'refusal'>,
  delta: Delta & { readonly root: string },
): Promise<ObservedRefusal['verdict']> {
  const { before, after } = delta;
  if (before.kind === 'absent') return 'wrong';
  if (after.kind === 'absent') return 'right';
  const textOf = (state: State): Promise<string | undefined> =>
    findText(images, state.kind === 'file' ? state.fingerprint : undefined, delta);
  const [live, left] = [await textOf(before), await textOf(after)];
  if (live === undefined || left === undefined) return 'unknown';
  const base = await findText(images, seen?.fingerprint, delta);
  const isLost = base === undefined || base === live ? dropsLines(live, left) : losesChange(base, live, left);
  return isLost ? 'right' : 'wrong';
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
export function falseAlarm(refusal: EntryOf<'refusal'>, next: ChangeEntry | undefined): Alarm {
  const { code, sha256, seen, content, observed } = refusal;
  const was = seen?.fingerprint?.sha256;
  if (OF_CHANGE.has(code) && was !== undefined && was === sha256 && seen?.lines !== 'none')
    return 'unchanged-bytes';
  // In observe mode the call itself writes the content. That does not prove that the session had
  // read the file before.
  if (observed === true) return undefined;
  const key = byPath(next?.deltas).find(({ relative }) => relative === refusal.path);
  const wrote = key?.after.kind === 'file' ? key.after.fingerprint.sha256 : undefined;
  const met = key?.before.kind === 'file' ? key.before.fingerprint.sha256 : undefined;
  return content !== undefined && wrote === content && met === sha256 ? 'same-content' : undefined;
}

/** Finds false alarms among entries that are added newest first. */
export class FalseAlarms {
  /** The next change of each session and path. */
  readonly #next = new Map<string, ChangeEntry>();

  /** True if the entry is a refusal that was a false alarm, as far as the later entries show. */
  add(entry: Entry): boolean {
    const placeOf = (path: string | undefined): string => `${entry.session}\0${path}`;
    if (entry.kind === 'refusal') return falseAlarm(entry, this.#next.get(placeOf(entry.path))) !== undefined;
    if (isChange(entry))
      for (const { relative } of byPath(entry.deltas)) this.#next.set(placeOf(relative), entry);
    return false;
  }
}

/** Refusals because the session does not know the text that its change would remove. */
const UNKNOWN_TEXT: ReadonlySet<RefusalCode | undefined> = new Set([
  'NOT_READ',
  'PARTIALLY_READ',
  'READ_EXPIRED',
  'STALE',
  'REVISION_MISMATCH',
]);

/** True for a refusal that kept bytes which its session did not know. */
export function isPrevented({ code, observed }: EntryOf<'refusal'>): boolean {
  return observed !== true && (code === 'WOULD_DESTROY' || UNKNOWN_TEXT.has(code));
}

/** True for the refusal of a change that would have removed a whole file or replaced its text. */
export function isStoppedOverwrite({ action, code }: EntryOf<'refusal'>): boolean {
  return (action === 'overwrite' || action === 'delete') && UNKNOWN_TEXT.has(code);
}

/**
 * The number of lines that a refused overwrite would have removed although its session had never
 * seen them. Undefined if the texts are no longer known.
 */
export async function linesAtRisk(
  { images }: Records,
  refusal: EntryOf<'refusal'>,
): Promise<number | undefined> {
  const { seen, sha256, sizeBytes, root } = refusal;
  if (sha256 === undefined || sizeBytes === undefined || !isStoppedOverwrite(refusal)) return undefined;
  const at = { root, key: absolutePathOf(refusal) ?? '' };
  const live = await findText(images, { sha256, size: sizeBytes }, at);
  if (live === undefined) return undefined;
  const total = lineCount(live);
  const then = seen?.fingerprint;
  if (seen === undefined || then === undefined) return total;
  if (then.sha256 === sha256) return total - countIn(parseLines(seen.lines, total));
  const old = await findText(images, then, at);
  return old === undefined ? undefined : sizeOfHunks(diffLines(old, live).hunks).added;
}
