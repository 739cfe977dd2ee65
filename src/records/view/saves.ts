import { setImmediate } from 'node:timers/promises';
import type { EntryOf } from '../../model/entry.ts';
import type { RefusalCode } from '../../model/verdict.ts';
import { type EntryFilter, walkEntries } from '../../store/store.ts';
import { FalseAlarms, isStoppedOverwrite, linesAtRisk } from '../judged-refusals.ts';
import type { Records } from '../records.ts';
import type { ViewSources } from './diffs.ts';
import { changesAndRefusals, destroyedRow, feedRow, filesOf, isLoss } from './feed.ts';
import type { FeedRow, SavedBy, Saves } from './view-data.ts';

const DAYS = 30;
const MAX_ENTRIES = 20_000;
/** Lines are counted for this many of the newest refused overwrites, because counting reads the files. */
const MAX_COUNTED = 300;
const MAX_ROWS = 20;

/** The refusals of the last 30 days that saved bytes. */
export async function savesOf({ records, scope }: ViewSources, nowMs: number): Promise<Saves> {
  const today = new Date(nowMs);
  const dayBefore = (days: number): Date =>
    new Date(today.getFullYear(), today.getMonth(), today.getDate() - days);
  const days = Array.from({ length: DAYS }, (_, i) => dayOf(dayBefore(DAYS - 1 - i)));
  const [byDay, byCode] = [new Map(days.map((day) => [day, 0])), new Map<RefusalCode, number>()];
  const [bySession, byFile] = [new SavedRows(), new SavedRows()];
  const total = { refusals: 0, overwrites: 0, lines: 0 };
  const falseAlarms: FeedRow[] = [];
  const [alarms, linesKept] = [new FalseAlarms(), lineCounter(records)];
  const lately = { ...scope.filter, sinceMs: dayBefore(DAYS - 1).getTime(), limit: MAX_ENTRIES };
  for await (const entry of changesAndRefusals(records.store, lately)) {
    if (alarms.add(entry)) falseAlarms.push(feedRow(entry));
    if (entry.kind !== 'refusal' || entry.observed === true) continue;
    const lines = await linesKept(entry);
    total.refusals += 1;
    total.overwrites += isStoppedOverwrite(entry) ? 1 : 0;
    total.lines += lines;
    count(byDay, dayOf(new Date(entry.atMs)));
    count(byCode, entry.code);
    bySession.add({ name: entry.session }, lines);
    for (const { root, path } of filesOf(entry)) byFile.add({ name: path, root }, lines);
  }
  return {
    ...{ ...total, destroyed: await destructions(records, lately), falseAlarms },
    byCode: [...byCode].sort((a, b) => b[1] - a[1]),
    byDay: days.map((day) => [day, byDay.get(day) ?? 0]),
    bySession: bySession.most(),
    byFile: byFile.most(),
  };
}

/** The commands that removed what nothing else held. */
async function destructions(records: Records, lately: EntryFilter): Promise<FeedRow[]> {
  const rows: FeedRow[] = [];
  for await (const notice of walkEntries(records.store, { ...lately, kinds: ['notice'] })) {
    const change = isLoss(notice) ? await records.change(notice.change ?? '') : undefined;
    if (change !== undefined) rows.push(destroyedRow(change));
  }
  return rows;
}

function count<Name>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** Returns a function that counts the lines that refused overwrites would have removed unseen. */
function lineCounter(records: Records): (refusal: EntryOf<'refusal'>) => Promise<number> {
  const counted = new Set<string>();
  return async (refusal) => {
    if (!isStoppedOverwrite(refusal) || counted.size >= MAX_COUNTED) return 0;
    // A repeated refusal for the same bytes keeps no further lines.
    const bytes = JSON.stringify([refusal.session, refusal.root, refusal.path, refusal.sha256]);
    if (counted.has(bytes)) return 0;
    counted.add(bytes);
    // Counting reads files. In between, other requests are answered.
    await setImmediate();
    return (await linesAtRisk(records, refusal)) ?? 0;
  };
}

/** Counts refusals and saved lines by session or file. */
class SavedRows {
  readonly #rows = new Map<string, { -readonly [K in keyof SavedBy]: SavedBy[K] }>();

  add(named: Pick<SavedBy, 'name' | 'root'>, lines: number): void {
    const key = `${named.root}\0${named.name}`;
    const row = this.#rows.get(key) ?? { ...named, refusals: 0, lines: 0 };
    this.#rows.set(key, row);
    row.refusals += 1;
    row.lines += lines;
  }

  most(): SavedBy[] {
    const rows = [...this.#rows.values()];
    return rows.sort((a, b) => b.lines - a.lines || b.refusals - a.refusals).slice(0, MAX_ROWS);
  }
}

/** The day as YYYY-MM-DD in the time zone of this machine, in which the viewer also shows times. */
function dayOf(date: Date): string {
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-');
}
