import { readSnapshot, type Snapshot, stampOf } from '../disk/read.ts';
import { type Coverage, NOTHING, WHOLE } from '../model/coverage.ts';
import { lastAt } from '../model/delta.ts';
import type { ChangeEntry, Entry, EntryOf, NewEntry } from '../model/entry.ts';
import { sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import type { Notice, WitnessEvent } from '../model/results.ts';
import { NO_FLAGS, type Sighting } from '../model/sighting.ts';
import type { Outcome } from '../model/verdict.ts';
import { carryCoverage } from '../text/change.ts';
import { hasUtf16Mark, looksBinary } from '../text/decode.ts';
import { diffLines } from '../text/diff.ts';
import { countFileLines } from '../text/file-lines.ts';
import { countLines } from '../text/lines.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { movedSightings } from '../views/sightings.ts';
import type { Located } from '../workspace/workspace.ts';
import { presentSighting } from './found.ts';
import { filesNotice } from './host/older-files.ts';
import { entryHead, type World } from './world.ts';

type ChangeEvent = Exclude<WitnessEvent, { kind: 'read' }>;
type Witnessed = Promise<Outcome<{ notices: readonly Notice[] }>>;

/**
 * Records that another program has written, deleted or moved a file, or has run a command. Text
 * that the program wrote counts as seen only if the file holds that text.
 */
export function witness(world: World, knowledge: Knowledge, event: ChangeEvent): Witnessed {
  switch (event.kind) {
    case 'write':
      return witnessWrite(world, knowledge, event);
    case 'delete':
      return witnessGone(world, knowledge, event.path);
    case 'move':
      return witnessMove(world, knowledge, event);
    case 'command':
      return sweep(world, knowledge);
    default:
      return event satisfies never;
  }
}

interface WitnessedFile {
  readonly key: string;
  /** Undefined if there is no readable file. */
  readonly snapshot: Snapshot | undefined;
}

function snapshotAt(world: World, path: string): Promise<Outcome<WitnessedFile>> {
  const read = async ({ place, exists }: Located): Promise<Outcome<WitnessedFile>> => {
    const limits = { clock: world.disk.clock, maxBytes: LIMITS.maxEditBytes };
    const snapshot = exists ? await readSnapshot(place, limits) : undefined;
    const isRead = snapshot !== undefined && !('problem' in snapshot);
    return { ok: true, key: place.path.key, snapshot: isRead ? snapshot : undefined };
  };
  return world.workspace.at({ path, action: 'read' }, read, (refused) => refused);
}

async function witnessWrite(
  world: World,
  knowledge: Knowledge,
  event: Extract<WitnessEvent, { kind: 'write' }>,
): Witnessed {
  const outcome = await snapshotAt(world, event.path);
  if (!outcome.ok) return outcome;
  const { key, snapshot } = outcome;
  if (snapshot === undefined) return witnessGone(world, knowledge, event.path);
  const coverage = await coverageWritten(world, knowledge, { key, snapshot, content: event.content });
  const totalLines = countFileLines(snapshot.bytes);
  const flags = { ...NO_FLAGS, notText: looksBinary(snapshot.bytes) };
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  await knowledge.record([
    presentSighting(world, snapshot, { key, totalLines, coverage, flags, how: 'witness' }),
  ]);
  return { ok: true, notices: [] };
}

/**
 * The lines that count as seen after another program's write. If the caller gave the content, all
 * lines count if the file holds exactly that content, and none if it does not. If the caller gave
 * no content, lines seen before still count. New lines count, unless they replace unseen lines.
 */
async function coverageWritten(
  world: World,
  knowledge: Knowledge,
  written: { key: string; snapshot: Snapshot; content: string | Uint8Array | undefined },
): Promise<Coverage> {
  const { content, snapshot } = written;
  if (content !== undefined) {
    const bytes = typeof content === 'string' ? Buffer.from(content, 'utf8') : content;
    return Buffer.compare(bytes, snapshot.bytes) === 0 ? WHOLE : NOTHING;
  }
  const before = await knowledge.recall(written.key);
  const baseline =
    before?.fingerprint === undefined ? undefined : await world.baselines.recall(before.fingerprint);
  // UTF-16 has newline bytes inside other characters, so its lines cannot be compared as bytes.
  if (before === undefined || baseline === undefined || hasUtf16Mark(baseline)) return NOTHING;
  const changes = diffLines(Buffer.from(baseline), snapshot.bytes).hunks.map((hunk) => ({
    ...hunk,
    // An edit may have replaced only a part of a line. With `all`, the new lines count as seen only
    // if the session had seen every line that they replace.
    mixed: 'all' as const,
  }));
  return carryCoverage(before.coverage, { changes, addedAre: 'seen', totalLines: countLines(baseline) });
}

async function witnessGone(world: World, knowledge: Knowledge, path: string): Witnessed {
  const outcome = world.workspace.resolve(path, 'delete');
  if (!outcome.ok) return outcome;
  const seen = await knowledge.recall(outcome.path.key);
  if (seen !== undefined && !outcome.exists) {
    await knowledge.record([], {}, { keys: [outcome.path.key], atMs: world.now() });
  }
  return { ok: true, notices: [] };
}

async function witnessMove(
  world: World,
  knowledge: Knowledge,
  event: Extract<WitnessEvent, { kind: 'move' }>,
): Witnessed {
  const source = world.workspace.resolve(event.source, 'move');
  const destination = world.workspace.resolve(event.destination, 'move');
  if (!source.ok) return source;
  if (!destination.ok) return destination;
  if (source.exists || !destination.exists) return { ok: true, notices: [] };
  const ends = { from: source.path.key, to: destination.path.key };
  const moved = await knowledge.below(ends.from);
  if (moved.length === 0) return { ok: true, notices: [] };
  const keys = moved.map(({ key }) => key);
  await knowledge.record(movedSightings(moved, ends), {}, { keys, atMs: world.now() });
  return { ok: true, notices: [] };
}

/**
 * Notices about files that the session has seen and that have changed since. Called after a command
 * that may have changed any file.
 */
async function sweep(world: World, knowledge: Knowledge): Promise<Outcome<{ notices: readonly Notice[] }>> {
  const changed = (await changedFiles(world, knowledge)).map(({ path }) => path);
  return { ok: true, notices: filesNotice('changed-seen-files', changed.sort()) };
}

/** A file that a session has seen and whose bytes have changed since. */
interface ChangedFile {
  readonly key: string;
  /** The path, relative to the root. */
  readonly path: string;
  /** Hash of the present bytes; '' if the file is gone or cannot be read. */
  readonly sha256: string;
}

/** Lists the files that a session has seen and that have changed since. */
async function changedFiles(world: World, knowledge: Knowledge): Promise<readonly ChangedFile[]> {
  const changed: ChangedFile[] = [];
  for (const sighting of await knowledge.all()) {
    const file = sighting.how === 'listing' ? undefined : await changedFile(world, sighting);
    if (file !== undefined) changed.push(file);
  }
  return changed;
}

/**
 * The file, if its bytes have changed or it is gone; otherwise undefined. A different stamp alone
 * is no change: the hash decides.
 */
async function changedFile(world: World, sighting: Sighting): Promise<ChangedFile | undefined> {
  const { key, fingerprint } = sighting;
  const look = async (located: Located): Promise<ChangedFile | undefined> => {
    const path = world.workspace.shown(located.place.path);
    if (!located.exists || !located.stats.isFile()) return { key, path, sha256: '' };
    if (sighting.stamp && !sighting.racy && sameStamp(sighting.stamp, stampOf(located.stats)))
      return undefined;
    const snapshot = await readSnapshot(located.place, { clock: world.disk.clock });
    if ('problem' in snapshot) return { key, path, sha256: '' };
    if (fingerprint !== undefined && sameFingerprint(snapshot.fingerprint, fingerprint)) return undefined;
    return { key, path, sha256: snapshot.fingerprint.sha256 };
  };
  return world.workspace.at({ path: key, action: 'status' }, look, () => undefined);
}

/**
 * The last words of a notice about a file that another session or program changed. These words
 * identify such notices in the journal, so that each state of a file gets only one.
 */
const SINCE_SEEN = 'since this session saw it';
/**
 * Maximum number of notices to search, newest first. `noteOutsideChanges` searches this many for
 * each changed file, `outsideChangesOfTurn` this many in total.
 */
const MAX_NOTICES = 1000;

/**
 * Records which files seen by the session were changed by other sessions and programs, such as
 * formatters and linters that other hooks run after a change. The entries belong to the current
 * turn.
 */
export async function noteOutsideChanges(world: World, knowledge: Knowledge): Promise<void> {
  const { session } = knowledge;
  const files = await changedFiles(world, knowledge);
  if (files.length === 0) return;
  const keys = files.map(({ key }) => key);
  const last = await world.store.lastChanges(keys);
  const limit = keys.length * MAX_NOTICES;
  const notices = await world.store.entries({ session, keys, kinds: ['notice'], limit });
  const entries: NewEntry[] = [];
  for (const file of files) {
    const author = authorOf(file, last.get(file.key));
    // Skip changes that the session made itself, for example by a command.
    if (author === session || isNoted(notices, file)) continue;
    const text = `changed by ${author === undefined ? 'another program' : `session ${author}`} ${SINCE_SEEN}`;
    entries.push({ kind: 'notice', ...entryHead(world, knowledge), ...file, text });
  }
  if (entries.length > 0) await world.store.record({ entries });
}

/**
 * The session that left the file as it is now, according to the last change in the journal.
 * Undefined if another program has changed the file since.
 */
function authorOf({ key, sha256 }: ChangedFile, last: ChangeEntry | undefined): string | undefined {
  const left = lastAt(last?.deltas, key)?.after;
  if (left === undefined) return undefined;
  return (left.kind === 'file' ? left.fingerprint.sha256 : '') === sha256 ? last?.session : undefined;
}

function isNoted(notices: readonly EntryOf<'notice'>[], { key, sha256 }: ChangedFile): boolean {
  return notices.some((notice) => isOfChange(notice) && notice.key === key && notice.sha256 === sha256);
}

function isOfChange({ text }: Entry): boolean {
  return text?.endsWith(SINCE_SEEN) === true;
}

/**
 * Paths of the files that other programs have changed since the session's last turn began,
 * according to the journal. Leaves out files that have the seen bytes again.
 */
export async function outsideChangesOfTurn(world: World, knowledge: Knowledge): Promise<readonly string[]> {
  const { session } = knowledge;
  const [turn] = await world.store.entries({ session, kinds: ['turn'], limit: 1 });
  const since = turn === undefined ? {} : { afterSeq: turn.seq };
  const notices = await world.store.entries({ session, kinds: ['notice'], ...since, limit: MAX_NOTICES });
  const noted = new Set(notices.flatMap((notice) => (isOfChange(notice) ? (notice.path ?? []) : [])));
  return (await changedFiles(world, knowledge)).map(({ path }) => path).filter((path) => noted.has(path));
}
