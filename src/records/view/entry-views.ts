import { isUndo, UndoHistory } from '../../journal/undo-history.ts';
import { mergeRanges } from '../../model/coverage.ts';
import type { Effect, Entry, State } from '../../model/entry.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { Policy } from '../../model/policy.ts';
import { byteSize } from '../../report/amounts.ts';
import { entryKeys } from '../../store/entry-columns.ts';
import { walkEntries } from '../../store/store.ts';
import { decodeText } from '../../text/decode.ts';
import { lineCount } from '../../text/lines.ts';
import { isSecretPath, masked } from '../../text/secrets.ts';
import { absolutePathOf, detailOf, readWords, whatOf } from '../entry-words.ts';
import { falseAlarm, numbersOf } from '../judged-refusals.ts';
import { describeState, findBytes, type NetEffect, netEffects, withoutImplied } from '../net-effects.ts';
import type { Records } from '../records.ts';
import type { Scope } from '../scope.ts';
import { type TurnView, turnViews } from '../turns.ts';
import { feedRow, fileRows } from './feed.ts';
import { diffGroups } from './hunks.ts';
import { durationWords } from './lanes.ts';
import { parseLines } from './parse-lines.ts';
import type {
  ChangeView,
  EntryView,
  FileDiff,
  FileRow,
  KnownBefore,
  Numbers,
  RefusalView,
  SessionRow,
  TurnDetail,
  TurnRow,
} from './view-data.ts';
import { NEXT, noticeWords, seenWords, WHY } from './view-words.ts';

/** The records from which views are built, and the settings that apply to all views. */
export interface ViewSources {
  readonly records: Records;
  readonly scope: Scope;
  /** The policy for secrets. Views mask secrets as reads do. */
  readonly secrets: Policy['secrets'];
}

/**
 * The maximum number of files of a change or turn that are shown with their diff. Further files are
 * only counted.
 */
const MAX_FILES = 50;
const MAX_TEXT_BYTES = 4 << 20;
/**
 * The viewer searches for earlier and later entries of the same session only among this many entry
 * numbers before and after the entry that it shows.
 */
const MAX_DISTANCE = 20_000;
const MAX_SEARCHED = 500;

/** One entry with everything that belongs to it; undefined if there is none with this number. */
export async function entryView(sources: ViewSources, seq: number): Promise<EntryView | undefined> {
  const { store } = sources.records;
  const [entry] = await store.entries({ ...sources.scope.filter, afterSeq: seq - 1, beforeSeq: seq + 1 });
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
  const effects = withoutImplied(netEffects([entry]));
  const files: (FileDiff & { known: KnownBefore })[] = [];
  for (const effect of effects.slice(0, MAX_FILES))
    files.push({ ...(await fileDiff(sources, effect)), known: await knownBefore(sources, entry, effect) });
  const { undoneBy, standing } = await laterUndos(sources, entry);
  const undoes = entry.undoes ?? entry.undoesPart?.change;
  const undone = undoes === undefined ? undefined : await sources.records.change(undoes);
  return {
    kind: 'change',
    row: feedRow(entry),
    files,
    more: Math.max(0, effects.length - MAX_FILES),
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
  const later = { keys, kinds: ['change'], afterSeq: entry.seq, limit: MAX_COUNTED } as const;
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

/** The diff of one path, in the form shown to users. */
async function fileDiff(sources: ViewSources, effect: NetEffect): Promise<FileDiff> {
  const { root, relative: path, before, after } = effect;
  const base = { root, path, added: 0, removed: 0, groups: [], cut: 0, parts: false };
  const told = sidesNote(before, after);
  const texts = await Promise.all([before, after].map((side) => textOf(sources, side, effect)));
  const [was, is] = texts;
  if (was === undefined || is === undefined) return { ...base, note: told ?? '' };
  const missing = [was, is].find((each) => 'missing' in each);
  if (missing !== undefined && 'missing' in missing) return { ...base, note: missing.missing };
  const [old, fresh] = [was, is].map((each) => ('text' in each ? each.text : ''));
  const diff = diffGroups(old ?? '', fresh ?? '', (text) => viewText(sources, path, text));
  const parts = before.kind === 'file' && after.kind === 'file';
  return { ...base, ...diff, parts, ...(told === undefined ? {} : { note: told }) };
}

/** Text for users, with secrets masked as in reads. */
export function viewText({ secrets }: Pick<ViewSources, 'secrets'>, path: string, text: string): string {
  return secrets === 'show' ? text : masked(text, { secretFile: isSecretPath(path) });
}

type FoundText = { readonly text: string } | { readonly missing: string };

/**
 * The text of a file before or after a change, or the reason why the text is missing. The text is
 * empty if the file did not exist. Undefined for folders and links.
 */
async function textOf(
  { records }: ViewSources,
  side: State,
  at: { readonly root: string; readonly key: string },
): Promise<FoundText | undefined> {
  if (side.kind === 'absent') return { text: '' };
  return side.kind === 'file' ? findTitle(records, side.fingerprint, at) : undefined;
}

export async function findTitle(
  { images }: Records,
  wanted: Fingerprint,
  at: { readonly root: string; readonly key: string },
): Promise<FoundText> {
  if (wanted.size > MAX_TEXT_BYTES) return { missing: `too large to compare: ${byteSize(wanted.size)}` };
  const found = await findBytes(images, wanted, at);
  if ('missing' in found) return found;
  const text = decodeText(found.bytes)?.text;
  return text === undefined ? { missing: `not text: ${byteSize(wanted.size)}` } : { text };
}

/**
 * Describes a change of a path other than its text: created, deleted, or given another mode or
 * kind.
 */
function sidesNote(before: State, after: State): string | undefined {
  if (before.kind === 'absent' && after.kind === 'file') return 'new file';
  if (before.kind === 'file' && after.kind === 'absent') return 'deleted';
  if (before.kind === 'file' && after.kind === 'file')
    return before.mode === after.mode
      ? undefined
      : `mode ${before.mode.toString(8)} to ${after.mode.toString(8)}`;
  return `${describeState(before)} became ${describeState(after)}`;
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
    ...((await partlyRead(sources, entry, key)) ?? verdictOf(entry, after, writers)),
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

/** The verdict on the refusal of a whole write to a file of which the session had seen some lines. */
async function partlyRead(
  { records }: ViewSources,
  { code, seen, sha256, sizeBytes, root }: Entry,
  key: string,
): Promise<Pick<RefusalView, 'verdict' | 'because'> | undefined> {
  const isCurrent = sha256 !== undefined && seen?.fingerprint?.sha256 === sha256;
  if (code !== 'PARTIALLY_READ' || !isCurrent || sizeBytes === undefined) return undefined;
  const found = await findBytes(records.images, { sha256, size: sizeBytes }, { root, key });
  const text = 'missing' in found ? undefined : decodeText(found.bytes)?.text;
  if (text === undefined) return { verdict: 'right', because: 'It had seen only a part of the file.' };
  const total = lineCount(text);
  const shown = parseLines(seen?.lines ?? '', total);
  const known = mergeRanges(shown).reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const unseen = Math.max(1, total - known);
  const lines = unseen === 1 ? 'a line' : `${unseen} lines`;
  return { verdict: 'right', because: `It would have replaced ${lines} that the session had never seen.` };
}

function verdictOf(
  entry: Entry,
  after: Entry | undefined,
  writers: readonly Entry[],
): Pick<RefusalView, 'verdict' | 'because'> {
  const alarm = falseAlarm(entry, after?.kind === 'change' ? after : undefined);
  if (alarm === 'unchanged-bytes')
    return { verdict: 'false alarm', because: 'The file still held the bytes that the session had seen.' };
  if (alarm === 'same-content')
    return {
      verdict: 'false alarm',
      because: 'The session read the unchanged file and then wrote what had been refused.',
    };
  const was = entry.seen?.fingerprint?.sha256;
  if (was !== undefined && entry.sha256 !== undefined && was !== entry.sha256) {
    const who = [...new Set(writers.map(({ session }) => session))].join(', ') || 'Another program';
    return { verdict: 'right', because: `${who} had changed the file since the session saw it.` };
  }
  if (entry.code === 'NOT_READ' && entry.seen === undefined)
    return { verdict: 'right', because: 'The session had never been shown the text that was there.' };
  if (entry.code === 'OUTSIDE_WORKSPACE')
    return { verdict: 'right', because: 'No session may leave its workspace.' };
  return {
    verdict: 'cannot tell',
    because: 'The journal has only hashes, and they do not decide this case.',
  };
}

const MAX_SESSIONS = 200;
const MAX_TURNS = 20;
/** The list of files is built from at most this many of the latest changes and refusals. */
const MAX_RECENT = 300;
const MAX_COUNTED = 20_000;

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
  const entries = await recent({ records, scope }, MAX_RECENT);
  return fileRows(entries.sort((a, b) => b.seq - a.seq));
}

export async function numbers(sources: Pick<ViewSources, 'records' | 'scope'>): Promise<Numbers> {
  return numbersOf(await recent(sources, MAX_COUNTED));
}

/** The newest changes and refusals. Each kind is read in pages from its own index. */
async function recent(
  { records, scope }: Pick<ViewSources, 'records' | 'scope'>,
  limit: number,
): Promise<Entry[]> {
  const { store } = records;
  const entries: Entry[] = [];
  for (const kind of ['change', 'refusal'] as const)
    for await (const entry of walkEntries(store, { ...scope.filter, kinds: [kind], limit }))
      entries.push(entry);
  return entries;
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
  const effects: NetEffect[] = withoutImplied(netEffects(entries));
  const files = await Promise.all(effects.slice(0, MAX_FILES).map((effect) => fileDiff(sources, effect)));
  const plain = files.map((file) => ({ ...file, parts: false }));
  return { row: turnRow(turn), files: plain, more: Math.max(0, effects.length - MAX_FILES) };
}
