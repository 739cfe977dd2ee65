import type { Entry } from '../../model/entry.ts';
import type { RefusalCode } from '../../model/verdict.ts';
import { feedRow } from './feed.ts';
import type { Numbers } from './view-data.ts';

/** Refusals that claim that the file is not as the session saw it. */
const OF_CHANGE: ReadonlySet<RefusalCode> = new Set([
  'STALE',
  'READ_EXPIRED',
  'DELETED',
  'REVISION_MISMATCH',
]);

/**
 * The sign of a needless refusal. `same-content`: the session read the file again and then wrote what had been refused.
 */
type Alarm = 'unchanged-bytes' | 'same-content' | undefined;

/**
 * The reason why a refusal was a false alarm; undefined if it was right or cannot be judged. `next`: the session's next
 * change of the file.
 */
export function falseAlarm(refusal: Entry, next: Entry | undefined): Alarm {
  const { code, sha256, seen, content } = refusal;
  if (code === undefined) return undefined;
  const was = seen?.fingerprint?.sha256;
  if (OF_CHANGE.has(code) && was !== undefined && was === sha256 && seen?.lines !== 'none')
    return 'unchanged-bytes';
  const key = next?.effects?.find(({ relative }) => relative === refusal.path);
  const wrote = key?.after.kind === 'file' ? key.after.fingerprint.sha256 : undefined;
  const met = key?.before.kind === 'file' ? key.before.fingerprint.sha256 : undefined;
  return content !== undefined && wrote === content && met === sha256 ? 'same-content' : undefined;
}

/** Counts over refusals and changes, in any order. */
export function numbersOf(entries: readonly Entry[]): Numbers {
  const sorted = [...entries].sort((a, b) => a.seq - b.seq);
  const refusals = sorted.filter(({ kind }) => kind === 'refusal');
  const shown = sorted.filter(({ diffBytes }) => diffBytes !== undefined);
  return {
    refusals: refusals.length,
    byCode: counted(refusals.map(({ code }) => code ?? '')).sort((a, b) => b[1] - a[1]),
    byDay: counted(refusals.map(({ atMs }) => new Date(atMs).toISOString().slice(0, 10))),
    falseAlarms: alarmsIn(sorted).map(feedRow),
    saved: {
      times: shown.length,
      diffBytes: shown.reduce((sum, { diffBytes = 0 }) => sum + diffBytes, 0),
      rereadBytes: shown.reduce((sum, entry) => sum + rereadBytes(entry), 0),
    },
  };
}

/** Entries come oldest first; the result newest first. */
function alarmsIn(entries: readonly Entry[]): Entry[] {
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

/** The size of the whole file, which the session would have read again without the diff. */
function rereadBytes({ kind, sizeBytes, effects = [] }: Entry): number {
  if (kind === 'refusal') return sizeBytes ?? 0;
  return effects.reduce((sum, { before }) => sum + (before.kind === 'file' ? before.fingerprint.size : 0), 0);
}

function counted(words: readonly string[]): (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts];
}
