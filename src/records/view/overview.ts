import type { Entry } from '../../model/entry.ts';
import { type NetEffect, netEffects, withoutImplied } from '../net-effects.ts';
import { type TurnView, turnViews } from '../turns.ts';
import { fileDiff, type Viewing } from './entry-views.ts';
import { fileRows } from './feed.ts';
import { numbersOf } from './numbers.ts';
import type { FileRow, Numbers, SessionRow, TurnDetail, TurnRow } from './view-data.ts';

const MAX_SESSIONS = 200;
const MAX_TURNS = 20;
/** The number of changes and refusals from which the list of files is built. */
const MAX_RECENT = 300;
const MAX_FILES = 50;
const MAX_COUNTED = 20_000;

/** The sessions in scope, most recently used first. */
export async function sessionRows({ records, scope }: Viewing): Promise<SessionRow[]> {
  const all = await records.store.sessions();
  return all
    .filter(({ root }) => scope.includes(root))
    .slice(0, MAX_SESSIONS)
    .map(({ id, lastMs, closedMs, client }) => ({
      id,
      lastMs,
      open: closedMs === undefined,
      ...(client === undefined ? {} : { client }),
    }));
}

/** Files that were changed lately, or for which a change was refused. */
export async function recentFiles({ records, scope }: Viewing): Promise<FileRow[]> {
  const entries = await recent({ records, scope }, MAX_RECENT);
  return fileRows(entries.sort((a, b) => b.seq - a.seq));
}

export async function numbers(viewing: Pick<Viewing, 'records' | 'scope'>): Promise<Numbers> {
  return numbersOf(await recent(viewing, MAX_COUNTED));
}

/** The newest changes and refusals. Each kind is one query on its own index. */
async function recent(
  { records, scope }: Pick<Viewing, 'records' | 'scope'>,
  limit: number,
): Promise<Entry[]> {
  const { store } = records;
  const changes = await store.entries({ ...scope.filter, kinds: ['change'], limit });
  const refusals = await store.entries({ ...scope.filter, kinds: ['refusal'], limit });
  return [...changes, ...refusals];
}

/** The newest turns. */
export async function turnRows({ records, scope }: Viewing): Promise<TurnRow[]> {
  return (await turnViews(records, { scope, limit: MAX_TURNS })).map(turnRow);
}

function turnRow({ seq, turn, session, atMs, label, prompt, files, changes, stands }: TurnView): TurnRow {
  return { seq, turn, session, atMs, words: label ?? prompt ?? turn, files, changes: changes.length, stands };
}

/** A turn with the differences that it made; undefined if there is none with this number. */
export async function turnDetail(viewing: Viewing, turn: TurnView): Promise<TurnDetail> {
  const entries: Entry[] = [];
  for (const id of turn.changes) {
    const entry = await viewing.records.change(id);
    if (entry !== undefined) entries.push(entry);
  }
  const effects: NetEffect[] = withoutImplied(netEffects(entries));
  const files = await Promise.all(effects.slice(0, MAX_FILES).map((effect) => fileDiff(viewing, effect)));
  const plain = files.map((file) => ({ ...file, parts: false }));
  return { row: turnRow(turn), files: plain, more: Math.max(0, effects.length - MAX_FILES) };
}
