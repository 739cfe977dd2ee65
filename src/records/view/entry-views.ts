import { isUndo, UndoHistory } from '../../journal/undo-history.ts';
import type { Effect, Entry, State } from '../../model/entry.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import { countOf } from '../../report/amounts.ts';
import { entryKeys } from '../../store/entry-columns.ts';
import { walkEntries } from '../../store/store.ts';
import { absolutePathOf, detailOf, readWords, whatOf } from '../entry-words.ts';
import { falseAlarm } from '../judged-refusals.ts';
import { type TurnView, turnViews } from '../turns.ts';
import { diffsOf, fileDiff, linesAtRisk, type ViewSources } from './diffs.ts';
import { feedRow, fileRows } from './feed.ts';
import { durationWords } from './lanes.ts';
import type {
  ChangeView,
  EntryView,
  FileDiff,
  FileRow,
  KnownBefore,
  RefusalView,
  SessionRow,
  TurnDetail,
  TurnRow,
} from './view-data.ts';
import { NEXT, noticeWords, seenWords, WHY } from './view-words.ts';

/**
 * The viewer searches for earlier and later entries of the same session only among this many entry
 * numbers before and after the entry that it shows.
 */
const MAX_DISTANCE = 20_000;
const MAX_SEARCHED = 500;
/** The maximum number of later changes of the same files that are searched for undos. */
const MAX_LATER = 20_000;

/** The entry with this number; undefined if none in scope has it. */
export async function entryNumbered(
  { records, scope }: ViewSources,
  seq: number,
): Promise<Entry | undefined> {
  const [entry] = await records.store.entries({ ...scope.filter, afterSeq: seq - 1, beforeSeq: seq + 1 });
  return entry;
}

/** One entry with everything that belongs to it; undefined if there is none with this number. */
export async function entryView(sources: ViewSources, seq: number): Promise<EntryView | undefined> {
  const entry = await entryNumbered(sources, seq);
  if (entry === undefined) return undefined;
  if (entry.kind === 'change') return changeView(sources, entry);
  if (entry.kind === 'refusal') return refusalView(sources, entry);
  return { kind: 'plain', row: feedRow(entry), root: entry.root, words: plainWords(entry) };
}

function plainWords(entry: Entry): string {
  if (entry.kind !== 'read') return detailOf(entry) ?? whatOf(entry);
  const total = entry.totalLines === undefined ? '' : ` of ${entry.totalLines}`;
  if (entry.shown?.includes('described') === true) return 'The file was described to the session, not shown.';
  return `The session was shown ${readWords(entry, `${seenWords(entry.lines ?? 'none')}${total}`)}.`;
}

async function changeView(sources: ViewSources, entry: Entry): Promise<ChangeView> {
  const { files: diffs, more } = await diffsOf(sources, [entry]);
  const files: (FileDiff & { known: KnownBefore })[] = [];
  for (const [effect, diff] of diffs)
    files.push({ ...diff, known: await knownBefore(sources, entry, effect) });
  const { undoneBy, standing } = await laterUndos(sources, entry);
  const undoes = entry.undoes ?? entry.undoesPart?.change;
  const undone = undoes === undefined ? undefined : await sources.records.change(undoes);
  return {
    kind: 'change',
    row: feedRow(entry),
    files,
    more,
    notices: (entry.notices ?? []).map(noticeWords),
    standing,
    undoneBy: undoneBy.map(feedRow),
    ...(undone === undefined ? {} : { undoes: feedRow(undone) }),
    ...(entry.action === 'run' && entry.text !== undefined ? { command: entry.text } : {}),
  };
}

async function laterUndos(
  { records }: ViewSources,
  entry: Entry,
): Promise<{ undoneBy: readonly Entry[]; standing: ChangeView['standing'] }> {
  const keys = [...new Set((entry.effects ?? []).map(({ key }) => key))].slice(0, MAX_SEARCHED);
  const undos: Entry[] = [];
  const later = { keys, kinds: ['change'], afterSeq: entry.seq, limit: MAX_LATER } as const;
  for await (const each of walkEntries(records.store, later))
    if (isUndo(each) || each.undoesPart !== undefined) undos.push(each);
  const history = new UndoHistory([entry, ...undos]);
  const undoneBy = undos.filter(
    ({ undone, undoes, undoesPart }) =>
      undone?.changes.includes(entry.change ?? '') === true ||
      (entry.change !== undefined && (undoes === entry.change || undoesPart?.change === entry.change)),
  );
  const left = history.standing(entry).length;
  const isPartly =
    history.isPartlyUndone(entry) || undoneBy.some(({ undoesPart }) => undoesPart !== undefined);
  return { undoneBy, standing: left === 0 ? 'taken back' : isPartly ? 'partly' : 'stands' };
}

/** Says if and how the session knew the bytes that its change replaced. */
async function knownBefore(
  { records }: ViewSources,
  entry: Entry,
  { key, before }: Pick<Effect, 'key' | 'before'>,
): Promise<KnownBefore> {
  if (before.kind !== 'file') return { state: 'new', words: 'nothing was there' };
  const { session, seq, atMs } = entry;
  const afterSeq = Math.max(0, seq - MAX_DISTANCE);
  const earlier = await records.store.entries({
    session,
    key,
    afterSeq,
    beforeSeq: seq,
    limit: MAX_SEARCHED,
  });
  const { sha256 } = before.fingerprint;
  const ago = (when: number): string => `${durationWords(atMs - when)} before`;
  const wrote = earlier.find(({ kind, effects = [] }) => kind === 'change' && leaves(effects, key, sha256));
  if (wrote !== undefined)
    return { state: 'wrote', words: `it had written these bytes itself, ${ago(wrote.atMs)}` };
  const reads = earlier.filter(({ kind }) => kind === 'read');
  const same = reads.filter((read) => read.sha256 === sha256);
  const whole = same.find(({ lines, shown }) => lines === 'whole' && shown === undefined);
  if (whole !== undefined)
    return { state: 'whole', words: `it had read the whole file as it was, ${ago(whole.atMs)}` };
  const [part] = same;
  if (part !== undefined) {
    const lines = [...new Set(same.map(({ lines: each }) => each ?? ''))].reverse().join(',');
    return {
      state: 'part',
      words: `it had read ${readWords(part, seenWords(lines))} of the file as it was, ${ago(part.atMs)}`,
    };
  }
  const [older] = reads;
  if (older !== undefined)
    return {
      state: 'older',
      words: `it had read ${seenWords(older.lines ?? '')} of an earlier version, ${ago(older.atMs)}`,
    };
  return { state: 'unknown', words: 'no earlier read of this file by the session is recorded' };
}

function leaves(effects: readonly Effect[], key: string, sha256: string): boolean {
  const last = effects.findLast((effect) => effect.key === key)?.after;
  return last?.kind === 'file' && last.fingerprint.sha256 === sha256;
}

async function refusalView(sources: ViewSources, entry: Entry): Promise<RefusalView> {
  const { store } = sources.records;
  const { code = 'INVALID_ARGUMENT', seen, session, seq } = entry;
  const key = absolutePathOf(entry) ?? '';
  const after = await nextTry(sources, entry);
  const writers = (await store.entries({ key, kinds: ['change'], beforeSeq: seq, limit: 20 })).filter(
    (change) => change.session !== session && change.atMs >= (seen?.atMs ?? entry.atMs),
  );
  const since = await sinceSeen(sources, entry, key);
  return {
    kind: 'refusal',
    row: feedRow(entry),
    root: entry.root,
    ...(entry.observed === true ? { observed: true } : { next: NEXT[entry.next ?? 'none'] }),
    why: WHY[code],
    ...(entry.text === undefined ? {} : { reason: entry.text }),
    seen: seenBefore(entry),
    ...verdictOf(entry, { after, writers, atRisk: await linesAtRisk(sources, entry) }),
    ...(since === undefined ? {} : { since }),
    writers: writers.map(feedRow),
    ...(after === undefined ? {} : { after: { row: feedRow(after), words: tryWords(entry, after) } }),
  };
}

function seenBefore({ seen, atMs }: Entry): string {
  if (seen === undefined) return 'It had seen nothing of the file.';
  return `It had seen ${seenWords(seen.lines)}, ${durationWords(atMs - seen.atMs)} before.`;
}

async function sinceSeen(sources: ViewSources, entry: Entry, key: string): Promise<FileDiff | undefined> {
  const { seen, sha256, sizeBytes, path = '', root } = entry;
  if (seen?.fingerprint === undefined || sha256 === undefined || sizeBytes === undefined) return undefined;
  if (seen.fingerprint.sha256 === sha256) return undefined;
  const side = (fingerprint: Fingerprint): State => ({ kind: 'file', fingerprint, mode: 0, kept: true });
  const [before, after] = [side(seen.fingerprint), side({ sha256, size: sizeBytes })];
  const diff = await fileDiff(sources, { root, key, relative: path, before, after, changes: [] });
  return { ...diff, parts: false };
}

/** The session's next change of the same file, or next refusal for it, after this entry. */
async function nextTry({ records }: ViewSources, entry: Entry): Promise<Entry | undefined> {
  const { session, seq } = entry;
  const path = absolutePathOf(entry) ?? '';
  const later = await records.store.entries({
    session,
    afterSeq: seq,
    beforeSeq: seq + MAX_DISTANCE,
    order: 'oldest',
    limit: MAX_SEARCHED,
  });
  return later.find(
    (each) =>
      (each.kind === 'change' && entryKeys(each).has(path)) ||
      (each.kind === 'refusal' && absolutePathOf(each) === path),
  );
}

function tryWords(refusal: Entry, after: Entry): string {
  const later = `${durationWords(after.atMs - refusal.atMs)} later`;
  if (after.kind === 'refusal' && after.observed !== true)
    return `${later} it was refused again (${after.code ?? ''})`;
  return `${later} its ${after.action ?? 'change'} went through`;
}

interface Evidence {
  readonly after: Entry | undefined;
  readonly writers: readonly Entry[];
  /** The lines that the call would have removed unseen. */
  readonly atRisk: number | undefined;
}

function verdictOf(
  entry: Entry,
  { after, writers, atRisk = 0 }: Evidence,
): Pick<RefusalView, 'verdict' | 'because'> {
  const right = (because: string) => ({ verdict: 'right', because }) as const;
  const wrong = (because: string) => ({ verdict: 'false alarm', because }) as const;
  const { code, seen, sha256 } = entry;
  const alarm = falseAlarm(entry, after?.kind === 'change' ? after : undefined);
  if (alarm === 'unchanged-bytes') return wrong('The file still held the bytes that the session had seen.');
  if (alarm === 'same-content')
    return wrong('The session read the unchanged file and then wrote what had been refused.');
  const was = seen?.fingerprint?.sha256;
  if (was !== undefined && sha256 !== undefined && was !== sha256) {
    const who = [...new Set(writers.map(({ session }) => session))].join(', ') || 'Another program';
    return right(`${who} had changed the file since the session saw it.`);
  }
  if (atRisk > 0) return right(`It would have removed ${countOf(atRisk, 'line')} it had never seen.`);
  if (code === 'PARTIALLY_READ' && was !== undefined && was === sha256)
    return right('It had seen only a part of the file.');
  if (code === 'NOT_READ' && seen === undefined)
    return right('The session had never been shown the text that was there.');
  if (code === 'OUTSIDE_WORKSPACE') return right('No session may leave its workspace.');
  return {
    verdict: 'cannot tell',
    because: 'The journal has only hashes, and they do not decide this case.',
  };
}

const MAX_SESSIONS = 200;
const MAX_TURNS = 20;
/** The list of files is built from at most this many of the latest changes and refusals. */
const MAX_RECENT = 300;

/** The sessions in scope, most recently used first. */
export async function sessionRows({ records, scope }: ViewSources): Promise<SessionRow[]> {
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
export async function recentFiles({ records, scope }: ViewSources): Promise<FileRow[]> {
  const entries: Entry[] = [];
  // Each kind is read from its own index.
  for (const kind of ['change', 'refusal'] as const)
    entries.push(...(await records.store.entries({ ...scope.filter, kinds: [kind], limit: MAX_RECENT })));
  return fileRows(entries.sort((a, b) => b.seq - a.seq));
}

/** The newest turns, or the newest of those that began before the entry with this number. */
export async function turnRows({ records, scope }: ViewSources, before?: number): Promise<TurnRow[]> {
  return (await turnViews(records, { scope, before, limit: MAX_TURNS })).map(turnRow);
}

function turnRow({ seq, turn, session, atMs, label, prompt, files, changes, stands }: TurnView): TurnRow {
  return { seq, turn, session, atMs, words: label ?? prompt ?? turn, files, changes: changes.length, stands };
}

/** A turn with the differences that it made. */
export async function turnDetail(sources: ViewSources, turn: TurnView): Promise<TurnDetail> {
  const entries: Entry[] = [];
  for (const id of turn.changes) {
    const entry = await sources.records.change(id);
    if (entry !== undefined) entries.push(entry);
  }
  const { files, more } = await diffsOf(sources, entries);
  return { row: turnRow(turn), files: files.map(([, diff]) => ({ ...diff, parts: false })), more };
}
