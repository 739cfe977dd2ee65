import type { Entry } from '../../model/entry.ts';
import { walkEntries } from '../../store/store.ts';
import { stateSize } from '../clean-up.ts';
import { falseAlarms } from '../judged-refusals.ts';
import { isStoppedOverwrite, linesAtRisk, type ViewSources } from './diffs.ts';
import { feedRow, filesOf } from './feed.ts';
import type { SavedBy, Saves } from './view-data.ts';

const DAYS = 30;
const MAX_ENTRIES = 20_000;
/** Lines are counted for this many of the newest refused overwrites, because counting reads the files. */
const MAX_COUNTED = 300;
const MAX_ROWS = 20;

/** The refusals of the last 30 days that saved bytes. */
export async function savesOf(sources: ViewSources, nowMs: number): Promise<Saves> {
  const { records, scope } = sources;
  const today = new Date(nowMs);
  const days = Array.from({ length: DAYS }, (_, i) =>
    dayOf(new Date(today.getFullYear(), today.getMonth(), today.getDate() - DAYS + 1 + i)),
  );
  const sinceMs = new Date(today.getFullYear(), today.getMonth(), today.getDate() - DAYS + 1).getTime();
  const entries: Entry[] = [];
  // Each kind is read from its own index.
  for (const kind of ['change', 'refusal'] as const)
    for await (const entry of walkEntries(records.store, {
      ...scope.filter,
      kinds: [kind],
      sinceMs,
      limit: MAX_ENTRIES,
    }))
      entries.push(entry);
  const sorted = entries.sort((a, b) => b.seq - a.seq);
  const refusals = sorted.filter(({ kind, observed }) => kind === 'refusal' && observed !== true);
  const lines = await atRisk(sources, refusals);
  const byDay = counted(refusals.map(({ atMs }) => dayOf(new Date(atMs))));
  const byFile = refusals.flatMap((entry) =>
    filesOf(entry).map(({ root, path }) => ({ name: path, root, entry })),
  );
  return {
    refusals: refusals.length,
    overwrites: refusals.filter(isStoppedOverwrite).length,
    lines: [...lines.values()].reduce((sum, each) => sum + each, 0),
    byCode: [...counted(refusals.map(({ code }) => code ?? ''))].sort((a, b) => b[1] - a[1]),
    byDay: days.map((day) => [day, byDay.get(day) ?? 0]),
    bySession: savedBy(
      refusals.map((entry) => ({ name: entry.session, entry })),
      lines,
    ),
    byFile: savedBy(byFile, lines),
    destroyed: sorted.map(feedRow).filter(({ destroyed }) => destroyed === true),
    falseAlarms: falseAlarms(sorted.toReversed()).map(feedRow),
    diffs: diffsShown(sorted),
    state: await stateSize(records),
  };
}

/** The lines that each of the newest refused overwrites would have removed unseen. */
async function atRisk(sources: ViewSources, refusals: readonly Entry[]): Promise<ReadonlyMap<Entry, number>> {
  const lines = new Map<Entry, number>();
  const seen = new Set<string>();
  for (const refusal of refusals.filter(isStoppedOverwrite).slice(0, MAX_COUNTED)) {
    // A repeated refusal for the same bytes keeps no further lines.
    const bytes = JSON.stringify([refusal.session, refusal.root, refusal.path, refusal.sha256]);
    if (!seen.has(bytes)) lines.set(refusal, (await linesAtRisk(sources, refusal)) ?? 0);
    seen.add(bytes);
  }
  return lines;
}

interface Refused {
  readonly name: string;
  readonly root?: string;
  readonly entry: Entry;
}

function savedBy(refused: readonly Refused[], lines: ReadonlyMap<Entry, number>): SavedBy[] {
  const rows = new Map<string, { -readonly [K in keyof SavedBy]: SavedBy[K] }>();
  for (const { entry, ...named } of refused) {
    const key = JSON.stringify(named);
    const row = rows.get(key) ?? { ...named, refusals: 0, lines: 0 };
    rows.set(key, row);
    row.refusals += 1;
    row.lines += lines.get(entry) ?? 0;
  }
  return [...rows.values()].sort((a, b) => b.lines - a.lines || b.refusals - a.refusals).slice(0, MAX_ROWS);
}

/** The effect of showing a session what had changed, instead of having it read the file again. */
function diffsShown(entries: readonly Entry[]): Saves['diffs'] {
  const shown = entries.filter(({ diffBytes }) => diffBytes !== undefined);
  return {
    times: shown.length,
    diffBytes: shown.reduce((sum, { diffBytes = 0 }) => sum + diffBytes, 0),
    rereadBytes: shown.reduce((sum, entry) => sum + rereadBytes(entry), 0),
  };
}

function rereadBytes({ kind, sizeBytes, effects = [] }: Entry): number {
  if (kind === 'refusal') return sizeBytes ?? 0;
  return effects.reduce((sum, { before }) => sum + (before.kind === 'file' ? before.fingerprint.size : 0), 0);
}

/** The day as YYYY-MM-DD in the time zone of this machine, in which the viewer also shows times. */
function dayOf(date: Date): string {
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-');
}

function counted(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
