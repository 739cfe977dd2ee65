import { knownOf } from '../../judge/known.ts';
import { type LineRange, mergeRanges, rangesOf } from '../../model/coverage.ts';
import type { Entry, EntryOf } from '../../model/entry.ts';
import type { Sighting } from '../../model/sighting.ts';
import { byteSize, countOf } from '../../report/amounts.ts';
import { plainKey } from '../../store/entry-columns.ts';
import { carryRanges } from '../../text/change.ts';
import { decodeText } from '../../text/decode.ts';
import { diffLines } from '../../text/diff.ts';
import { lineCount } from '../../text/lines.ts';
import { blame } from '../blame.ts';
import { clippedTo, countIn, parseLines } from '../line-ranges.ts';
import { findText, readLive } from '../path-diffs.ts';
import type { Records } from '../records.ts';
import { type ViewSources, viewText } from './diffs.ts';
import { feedRow } from './feed.ts';
import type { FilePicture, Strip } from './view-data.ts';

/** The maximum number of changes in a file's history. Lines from older changes have no author. */
const MAX_CHANGES = 60;

const MAX_REFUSALS = 40;

const MAX_LINES = 5000;

const MAX_LINE_CHARS = 400;

const MAX_BYTES = 4 << 20;

/**
 * The viewer searches this many of the newest journal entries for reads of the file. It uses the
 * reads of a session only if the store no longer has that session's sighting of the file.
 */
const MAX_DISTANCE = 20_000;
/** The maximum number of reads of the file that the viewer takes from the journal. */
const MAX_READS = 1000;
/**
 * The number of sessions, the most recently used first, whose sightings are searched for the file.
 * An older session is shown only if it has an entry about the file.
 */
const MAX_SESSIONS = 200;

/** A file as it is now, with what each session has seen of it and written into it. */
export async function filePicture(
  sources: ViewSources,
  { root, path }: { readonly root: string; readonly path: string },
): Promise<FilePicture> {
  const { store } = sources.records;
  const key = plainKey({ root, path }) ?? path;
  const live = await readLive({ root, key }, MAX_BYTES);
  const text = 'bytes' in live ? decodeText(live.bytes)?.text : undefined;
  const changes = await store.entries({ key, kinds: ['change'], limit: MAX_CHANGES });
  const refusals = await refusalsOf(sources, { root, path });
  const history = [...changes, ...refusals].sort((a, b) => b.seq - a.seq);
  const authors = text === undefined ? [] : await authorsOf(sources, { root, path, history });
  const now = { key, text: text ?? '', sha256: 'bytes' in live ? live.fingerprint.sha256 : '' };
  const strips = await stripsOf(sources, { root, now, history, authors });
  if (strips.length === 0) return unknownFile({ root, path });
  const lines = viewText(sources, path, text ?? '').split(/\r?\n/, MAX_LINES + 1);
  const totalLines = lineCount(text ?? '');
  const note = noteOf(live, text, totalLines);
  return {
    root,
    path,
    totalLines,
    strips,
    lines: lines.slice(0, Math.min(totalLines, MAX_LINES)).map((line) => line.slice(0, MAX_LINE_CHARS)),
    ...(note === undefined ? {} : { note }),
    history: history.map(feedRow),
    authors: authors.slice(0, MAX_LINES),
  };
}

/** The view of a file that no session has read, changed or tried to change: its content is not shown. */
function unknownFile(file: Pick<FilePicture, 'root' | 'path'>): FilePicture {
  const note = 'no session here has read or changed it';
  return { ...file, totalLines: 0, strips: [], lines: [], note, history: [], authors: [] };
}

type Live = Awaited<ReturnType<typeof readLive>>;

function noteOf(live: Live, text: string | undefined, totalLines: number): string | undefined {
  if (!('bytes' in live)) return live.missing;
  if (text === undefined) return `not text: ${byteSize(live.bytes.byteLength)}`;
  return totalLines > MAX_LINES ? `the first ${MAX_LINES} of ${totalLines} lines` : undefined;
}

async function refusalsOf(
  { records, scope }: ViewSources,
  { root, path }: { readonly root: string; readonly path: string },
): Promise<Entry[]> {
  const found: Entry[] = [];
  const newest = await records.store.entries({ ...scope.filter, kinds: ['refusal'], limit: 2000 });
  for (const entry of newest) {
    if (entry.root === root && entry.path === path) found.push(entry);
    if (found.length >= MAX_REFUSALS) break;
  }
  return found;
}

/**
 * For each line, the index in `history` of the change that wrote the line; -1 if no change in
 * `history` wrote it.
 */
async function authorsOf(
  { records }: ViewSources,
  {
    root,
    path,
    history,
  }: { readonly root: string; readonly path: string; readonly history: readonly Entry[] },
): Promise<number[]> {
  const blamed = await blame(records, { cwd: root, path, secrets: 'show' });
  const places = new Map(history.map(({ change }, place) => [change ?? `#${place}`, place]));
  return blamed.ok ? blamed.lines.map(({ change }) => places.get(change ?? '') ?? -1) : [];
}

interface Now {
  readonly key: string;
  readonly text: string;
  readonly sha256: string;
}

interface StripRequest {
  readonly root: string;
  readonly now: Now;
  readonly history: readonly Entry[];
  readonly authors: readonly number[];
}

async function stripsOf(
  sources: ViewSources,
  { root, now, history, authors }: StripRequest,
): Promise<Strip[]> {
  const { store } = sources.records;
  const known = (await store.sessions({ roots: [root] })).slice(0, MAX_SESSIONS).map(({ id }) => id);
  const reads = await newestReads(sources, now.key);
  const strips: Strip[] = [];
  const found = [...history, ...reads].map((entry) => entry.session);
  for (const session of new Set([...found, ...known])) {
    const own = new Set(
      [...history.entries()].flatMap(([i, entry]) =>
        entry.session === session && entry.kind === 'change' ? [i] : [],
      ),
    );
    const seer = { root, session, now, reads: reads.filter((read) => read.session === session) };
    const seen = await seenBy(sources, seer);
    const wrote = linesBy(authors, own);
    const refused = history.filter(
      (entry) => entry.session === session && entry.kind === 'refusal' && entry.observed !== true,
    ).length;
    if (seen === undefined && own.size === 0 && refused === 0) continue;
    const { words = 'never read it', ...ranges } = seen ?? { seen: [], stale: [] };
    strips.push({ session, ...ranges, wrote, words: stripWords(words, own.size, refused) });
  }
  return strips;
}

function stripWords(seen: string, changes: number, refused: number): string {
  const done = [
    ...(changes === 0 ? [] : [countOf(changes, 'change')]),
    ...(refused === 0 ? [] : [`${refused} refused`]),
  ];
  return [seen, ...done].join(' · ');
}

interface SeenLines {
  readonly seen: readonly LineRange[];
  readonly stale: readonly LineRange[];
  readonly words?: string;
}

interface Seer {
  readonly root: string;
  readonly session: string;
  readonly now: Now;
  /** The session's newest reads of the file, newest first. */
  readonly reads: readonly EntryOf<'read'>[];
}

/** The lines of the file that a session was shown; undefined if none. */
async function seenBy({ records }: ViewSources, seer: Seer): Promise<SeenLines | undefined> {
  const { root, session, now } = seer;
  const sighting = knownOf((await records.store.recallMany(session, [now.key])).get(now.key));
  if (sighting === undefined || sighting.how === 'listing' || sighting.tombstone === true)
    return readBefore(records, seer);
  const { fingerprint } = sighting;
  const total = lineCount(now.text);
  if (fingerprint?.sha256 === now.sha256)
    return wordsFor(sighting, { seen: rangesOf(sighting.coverage, total), stale: [] }, total);
  const then = await findText(records.images, fingerprint, { root, key: now.key });
  if (then === undefined)
    return { seen: [], stale: rangesOf(sighting.coverage, total), words: 'its view is older than the file' };
  const ranges = rangesOf(sighting.coverage, lineCount(then));
  return wordsFor(sighting, carriedPicture(ranges, then, now.text), total);
}

function wordsFor({ coverage }: Sighting, ranges: SeenLines, total: number): SeenLines {
  const count = countIn(ranges.seen);
  if (coverage.kind === 'none') return { ...ranges, words: 'its context was summarised' };
  if (ranges.stale.length > 0) {
    const known = total === 0 ? '' : ` · knows ${count} of ${total} lines`;
    return { ...ranges, words: `the file changed since its last read${known}` };
  }
  return {
    ...ranges,
    words: count >= total ? 'knows the current version' : `knows ${count} of ${total} lines`,
  };
}

/** The newest reads of a file by any session, newest first. */
async function newestReads(
  { records, scope }: ViewSources,
  key: string,
): Promise<readonly EntryOf<'read'>[]> {
  const afterSeq = Math.max(0, (await records.store.state()).head.seq - MAX_DISTANCE);
  return records.store.entries({ ...scope.filter, key, kinds: ['read'], afterSeq, limit: MAX_READS });
}

/**
 * The lines that a session's latest reads of the file showed, according to the journal. Used if the
 * store has no record of what that session has seen of the file, for example because the session is
 * closed.
 */
async function readBefore({ store }: Records, { session, now, reads }: Seer): Promise<SeenLines | undefined> {
  const [newest] = reads;
  if (newest === undefined) return undefined;
  const total = lineCount(now.text);
  const ranges = reads
    .filter(({ sha256 }) => sha256 === newest.sha256)
    .flatMap(({ lines = '' }) => parseLines(lines, total));
  const isCurrent = newest.sha256 === now.sha256;
  const record = await store.session(session);
  const isOpen = record !== undefined && record.closedMs === undefined;
  const state = isOpen ? 'no longer knows it' : 'is closed';
  return isCurrent
    ? { seen: ranges, stale: [], words: `read the current version, and ${state}` }
    : { seen: [], stale: ranges, words: `read an earlier version, and ${state}` };
}

/** The lines, as ranges, whose author is a change in `changes`. */
export function linesBy(authors: readonly number[], changes: ReadonlySet<number>): LineRange[] {
  return mergeRanges(
    authors.flatMap((author, i) => (changes.has(author) ? [{ from: i + 1, to: i + 1 }] : [])),
  );
}

/**
 * Converts lines that a session was shown of an earlier text to line numbers of the current text.
 * `seen`: the lines that are unchanged. `stale`: the lines at which the text has changed.
 */
export function carriedPicture(
  seen: readonly LineRange[],
  then: string,
  now: string,
): { readonly seen: readonly LineRange[]; readonly stale: readonly LineRange[] } {
  const { hunks } = diffLines(then, now);
  const touched = hunks.filter(({ beforeStart, beforeEnd }) =>
    seen.some(({ from, to }) => from <= Math.max(beforeEnd, beforeStart + 1) && to >= beforeStart),
  );
  const total = lineCount(now);
  // Mark removed lines at the line that follows them.
  const stale = touched.map(({ afterStart, afterEnd }) => ({
    from: Math.min(afterStart + 1, Math.max(total, 1)),
    to: Math.min(Math.max(afterEnd, afterStart + 1), Math.max(total, 1)),
  }));
  const still = carryRanges(seen, hunks);
  return { seen: clippedTo(still, total), stale: mergeRanges(stale) };
}
