import { setImmediate } from 'node:timers/promises';
import { isUndo, UndoHistory } from '../../journal/undo-history.ts';
import type { State } from '../../model/delta.ts';
import { type Delta, endsOf, lastAt } from '../../model/delta.ts';
import { type ChangeEntry, type Entry, type EntryOf, isChange } from '../../model/entry.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import { countOf } from '../../report/amounts.ts';
import { isGitsOwn } from '../../report/git-files.ts';
import { entryKeys } from '../../store/entry-columns.ts';
import { walkEntries } from '../../store/store.ts';
import { absolutePathOf, detailOf, readWords, whatOf } from '../entry-words.ts';
import { falseAlarm, linesAtRisk } from '../judged-refusals.ts';
import { type TurnView, turnViews } from '../turns.ts';
import { diffsOf, fileDiff, type ViewSources } from './diffs.ts';
import { changesAndRefusals, destroyedRow, feedRow, fileRows, lossBy } from './feed.ts';
import { durationWords } from './lanes.ts';
import type { DetailView, Fact, FileDiff, FileRow, SessionRow, TurnRow } from './view-data.ts';
import { NEXT, noticeWords, OBSERVED, refusedBecause, seenWords } from './view-words.ts';

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
export async function entryView(sources: ViewSources, seq: number): Promise<DetailView | undefined> {
  const entry = await entryNumbered(sources, seq);
  if (entry === undefined) return undefined;
  const shown = { row: feedRow(entry), root: entry.root, files: [], canUndo: false };
  if (entry.kind === 'change') return { root: entry.root, ...(await changeView(sources, entry)) };
  if (entry.kind === 'refusal') return { ...shown, ...(await refusalView(sources, entry)) };
  const turn = entry.kind === 'turn' ? await turnAt(sources, seq) : undefined;
  if (turn !== undefined) return turnDetail(sources, turn);
  const about = entry.change === undefined ? undefined : await sources.records.change(entry.change);
  return {
    ...shown,
    facts: [{ words: plainWords(entry), rows: about === undefined ? [] : [feedRow(about)] }],
  };
}

function plainWords(entry: Entry): string {
  if (entry.kind !== 'read') return detailOf(entry) ?? whatOf(entry);
  const total = entry.totalLines === undefined ? '' : ` of ${entry.totalLines}`;
  if (entry.shown?.includes('described') === true) return 'The file was described to the session, not shown.';
  return `The session was shown ${readWords(entry, `${seenWords(entry.lines ?? 'none')}${total}`)}.`;
}

type DetailParts = Pick<DetailView, 'facts' | 'files' | 'canUndo'>;

async function changeView(sources: ViewSources, entry: ChangeEntry): Promise<Omit<DetailView, 'root'>> {
  const { files: diffs, left } = await diffsOf(sources, [entry]);
  const files: DetailView['files'][number][] = [];
  for (const [effect, diff] of diffs)
    files.push({ ...diff, about: await knownBefore(sources, entry, effect) });
  const { undoneBy, standing } = await laterUndos(sources, entry);
  const undoes = entry.undoes ?? entry.undoesPart?.change;
  const undone = undoes === undefined ? undefined : await sources.records.change(undoes);
  const isCommand = entry.action === 'run' && entry.text !== undefined;
  const loss = await lossBy(sources.records.store, entry);
  const facts: Fact[] = [
    ...(standing === 'stands' ? [] : [noted(STANDING[standing], undoneBy)]),
    ...(undone === undefined ? [] : [noted('This change undid:', [undone])]),
    ...(isCommand ? [{ name: 'Command', words: entry.text ?? '' }] : []),
    ...(entry.notices ?? []).map((kind): Fact => ({ tone: 'warn', words: noticeWords(kind) })),
    ...(loss === undefined ? [] : [{ tone: 'warn', words: detailOf(loss) ?? '' } as const]),
    ...left,
  ];
  const row = loss === undefined ? feedRow(entry) : destroyedRow(entry);
  return { row, facts, files, canUndo: standing !== 'undone' };
}

const STANDING = {
  partly: 'Parts of this change were undone.',
  undone: 'This change was undone.',
} as const;

function noted(words: string, entries: readonly Entry[]): Fact {
  return { tone: 'note', words, rows: entries.map(feedRow) };
}

async function laterUndos(
  { records }: ViewSources,
  entry: ChangeEntry,
): Promise<{ undoneBy: readonly ChangeEntry[]; standing: keyof typeof STANDING | 'stands' }> {
  const keys = [...new Set(entry.deltas.flatMap(endsOf))].slice(0, MAX_SEARCHED);
  const undos: ChangeEntry[] = [];
  const later = { keys, kinds: ['change'], afterSeq: entry.seq, limit: MAX_LATER } as const;
  for await (const each of walkEntries(records.store, later))
    if (isUndo(each) || each.undoesPart !== undefined) undos.push(each);
  const history = new UndoHistory([entry, ...undos]);
  const undoneBy = undos.filter(
    ({ undone, undoes, undoesPart }) =>
      undone?.changes.includes(entry.change) === true ||
      undoes === entry.change ||
      undoesPart?.change === entry.change,
  );
  const left = history.standing(entry).length;
  const isPartly =
    history.isPartlyUndone(entry) || undoneBy.some(({ undoesPart }) => undoesPart !== undefined);
  return { undoneBy, standing: left === 0 ? 'undone' : isPartly ? 'partly' : 'stands' };
}

/** Says if and how the session knew the bytes that its change replaced. */
async function knownBefore(
  { records }: ViewSources,
  entry: Entry,
  { key, before }: Pick<Delta, 'key' | 'before'>,
): Promise<Fact> {
  const name = 'Had it read the file?';
  if (before.kind !== 'file') return { name, words: 'New file: nothing was there.' };
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
  const by = (answer: string, words: string, when: Entry): Fact => ({
    name,
    words: `${answer}: it had ${words}, ${durationWords(atMs - when.atMs)} before.`,
  });
  const wrote = earlier.find((each) => isChange(each) && leaves(each.deltas, key, sha256));
  if (wrote !== undefined) return by('Yes', 'written these bytes itself', wrote);
  const reads = earlier.filter((each): each is EntryOf<'read'> => each.kind === 'read');
  const same = reads.filter((read) => read.sha256 === sha256);
  const whole = same.find(({ lines, shown }) => lines === 'whole' && shown === undefined);
  if (whole !== undefined) return by('Yes', 'read the whole file as it was', whole);
  const [[part], [older]] = [same, reads];
  const lines = [...new Set(same.map(({ lines: each }) => each ?? ''))].reverse().join(',');
  if (part !== undefined)
    return by('In part', `read ${readWords(part, seenWords(lines))} of the file as it was`, part);
  if (older !== undefined)
    return {
      ...by('Not this version', `read ${seenWords(older.lines ?? '')} of an earlier version`, older),
      tone: 'warn',
    };
  return { name, tone: 'warn', words: 'No: no earlier read of this file by the session is recorded.' };
}

function leaves(deltas: ChangeEntry['deltas'], key: string, sha256: string): boolean {
  const last = lastAt(deltas, key)?.after;
  return last?.kind === 'file' && last.fingerprint.sha256 === sha256;
}

async function refusalView(sources: ViewSources, entry: EntryOf<'refusal'>): Promise<DetailParts> {
  const { store } = sources.records;
  const { code, seen, session, seq, text, observed } = entry;
  const key = absolutePathOf(entry) ?? '';
  const after = await nextTry(sources, entry);
  const writers = (await store.entries({ key, kinds: ['change'], beforeSeq: seq, limit: 20 })).filter(
    (change) => change.session !== session && change.atMs >= (seen?.atMs ?? entry.atMs),
  );
  const since = await sinceSeen(sources, entry, key);
  const facts: Fact[] = [
    ...(observed === true ? [{ tone: 'warn', words: OBSERVED } as const] : []),
    { words: refusedBecause(code) },
    ...judgementOf(entry, { after, writers, atRisk: await linesAtRisk(sources.records, entry) }),
    ...(text === undefined ? [] : [{ name: 'Why', words: text }]),
    ...(seen === undefined && code !== 'NOT_READ'
      ? []
      : [{ name: 'What the session had seen', words: seenBefore(entry) }]),
    ...(writers.length === 0 ? [] : [{ name: 'Changed since', words: '', rows: writers.map(feedRow) }]),
    ...(observed === true ? [] : [{ name: 'Next step given', words: `${NEXT[entry.next ?? 'none']}.` }]),
    after === undefined
      ? { name: 'Then', words: 'the session has not tried again.' }
      : { name: 'Then', words: tryWords(entry, after), rows: [feedRow(after)] },
  ];
  return { facts, files: since === undefined ? [] : [{ ...since, about: SINCE }], canUndo: false };
}

const SINCE: Fact = { name: 'What changed since the session saw the file', words: '' };

function seenBefore({ seen, atMs }: EntryOf<'refusal'>): string {
  if (seen === undefined) return 'nothing of the file.';
  return `${seenWords(seen.lines)}, ${durationWords(atMs - seen.atMs)} before.`;
}

async function sinceSeen(
  sources: ViewSources,
  entry: EntryOf<'refusal'>,
  key: string,
): Promise<FileDiff | undefined> {
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
    return `${later} it was refused again (${after.code ?? ''}).`;
  return `${later} its ${after.action ?? 'change'} went through.`;
}

interface Evidence {
  readonly after: Entry | undefined;
  readonly writers: readonly Entry[];
  /** The lines that the call would have removed unseen. */
  readonly atRisk: number | undefined;
}

/** The judgement of a refusal, if the journal proves one. */
function judgementOf(entry: EntryOf<'refusal'>, { after, writers, atRisk = 0 }: Evidence): Fact[] {
  const { code, seen, sha256, observed } = entry;
  const refusing = observed === true ? 'Refusing would have been' : 'Refusing was';
  const right = (words: string): Fact[] => [{ tone: 'right', name: `${refusing} right.`, words }];
  const alarm = falseAlarm(entry, after?.kind === 'change' ? after : undefined);
  if (alarm !== undefined)
    return [{ tone: 'wrong', name: `${refusing} a false alarm.`, words: ALARMS[alarm] }];
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
  return code === 'OUTSIDE_WORKSPACE' ? right('No session may leave its workspace.') : [];
}

const ALARMS = {
  'unchanged-bytes': 'The file still held the bytes that the session had seen.',
  'same-content': 'The session read the unchanged file and then wrote what had been refused.',
} as const;

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
  for await (const entry of changesAndRefusals(records.store, { ...scope.filter, limit: MAX_RECENT }))
    entries.push(entry);
  return fileRows(entries);
}

/** The newest turns, or the newest of those that began before the entry with this number. */
export async function turnRows({ records, scope }: ViewSources, before?: number): Promise<TurnRow[]> {
  return (await turnViews(records, { scope, before, limit: MAX_TURNS })).map(turnRow);
}

function turnRow({ seq, turn, session, atMs, label, prompt, files, changes, stands }: TurnView): TurnRow {
  return {
    ...{ seq, turn, session, atMs, words: label ?? prompt ?? turn, changes: changes.length, stands },
    files: files.filter((path) => !isGitsOwn(path)),
  };
}

/** The turn that begins with the entry of this number; undefined if no turn begins there. */
export async function turnAt(sources: ViewSources, seq: number): Promise<TurnView | undefined> {
  const mark = await entryNumbered(sources, seq);
  if (mark?.kind !== 'turn') return undefined;
  const { records, scope } = sources;
  const turns = await turnViews(records, { scope, session: mark.session, name: mark.turn });
  return turns.find((turn) => turn.seq === seq);
}

/** A turn with the differences that it made. */
export async function turnDetail(sources: ViewSources, turn: TurnView): Promise<DetailView> {
  const entries: ChangeEntry[] = [];
  for (const id of turn.changes) {
    // A turn may have thousands of changes. In between, other requests of the page are answered.
    await setImmediate();
    const entry = await sources.records.change(id);
    if (entry !== undefined) entries.push(entry);
  }
  const { files, more, left } = await diffsOf(sources, entries);
  const { seq, atMs, session, root } = turn;
  const changed = `Net result: ${countOf(files.length + more, 'file')} changed${turn.stands ? '' : ', undone since'}.`;
  return {
    row: { seq, atMs, session, kind: 'turn', what: turnRow(turn).words, turn: turn.turn },
    root,
    facts: [{ words: files.length === 0 ? 'This turn changed no file.' : changed }, ...left],
    files: files.map(([, diff]) => ({ ...diff, parts: false })),
    canUndo: files.length > 0,
  };
}
