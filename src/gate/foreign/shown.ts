import { isUtf8 } from 'node:buffer';
import { linesShownIn } from '../../dialect/calls/shown/output-lines.ts';
import { fingerprintOf, readSnapshot, type Snapshot } from '../../disk/read.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type Coverage, type LineRange, linesCoverage, NOTHING, WHOLE } from '../../model/coverage.ts';
import type { Effect } from '../../model/entry.ts';
import { Fault } from '../../model/fault.ts';
import { type Fingerprint, sameFingerprint } from '../../model/fingerprint.ts';
import type { CallTimes, ForeignRead } from '../../model/foreign-session.ts';
import { defined, parseJson } from '../../model/record.ts';
import type { Notice, WitnessEvent } from '../../model/results.ts';
import { NO_FLAGS, type Sighting, shownAs } from '../../model/sighting.ts';
import { type Outcome, refused } from '../../model/verdict.ts';
import { formatRanges } from '../../report/amounts.ts';
import { looksBinary } from '../../text/decode.ts';
import { countFileLines } from '../../text/file-lines.ts';
import { countLines, sameLines, sliceLineBytes } from '../../text/lines.ts';
import { syncImages } from '../announce.ts';
import { trusted } from '../look.ts';
import { keepBytesOf } from '../old-bytes.ts';
import { creditFor, outsideChange } from '../prepared.ts';
import { snapshotAt } from '../step.ts';
import { flagsShown } from '../witness.ts';
import type { World } from '../world.ts';

type ReadEvent = Extract<WitnessEvent, { kind: 'read' }> | ForeignRead;
/** `credited`: at least one line counts as seen. */
type Told = Promise<Outcome<{ notices: readonly Notice[]; credited: boolean }>>;

const UNCREDITED = { ok: true, notices: [], credited: false } as const;

export interface ShownScene {
  readonly world: World;
  readonly ledger: Ledger;
  /**
   * Times at which the call that shows something arrived and was answered. The shown lines count as
   * seen only for calls that arrive later. Absent if the client waits for each answer before its
   * next call.
   */
  readonly times?: CallTimes;
}

/**
 * Records what another program's read showed. The shown text counts, not the file's present bytes:
 * if they differ, the session's next change is refused as STALE, not as NOT_READ. Files larger than
 * `maxEditBytes` are not recorded.
 */
export async function witnessShown(scene: ShownScene, event: ReadEvent): Told {
  const { world, ledger } = scene;
  const outcome = world.workspace.locate(event.path, 'read');
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  try {
    if (!located.exists) return await witnessText(scene, event);
    const { path } = located.place;
    const earlier = await ledger.recall(path.key);
    const limits = { clock: world.disk.clock, maxBytes: world.policy.maxEditBytes, known: trusted(earlier) };
    const snapshot = await readSnapshot(located.place, limits);
    if ('problem' in snapshot)
      return snapshot.problem === 'denied' ? await witnessText(scene, event) : UNCREDITED;
    const shown = shownBy(event, snapshot);
    const sighting = { ...shown.sighting, key: path.key, how: 'read' as const, atMs: world.now() };
    if (shown.bytes !== undefined && sighting.fingerprint !== undefined)
      world.baselines.remember(sighting.fingerprint, shown.bytes);
    const credited = sighting.coverage.kind !== 'none';
    if (credited) await recordView(scene, sighting, path);
    if (shown.current) return { ok: true, notices: [], credited };
    return refused({ code: 'STALE', action: 'read', path: event.path, next: 'read_again' });
  } finally {
    located.place.dir.close();
  }
}

/**
 * Records the shown text of a file that can no longer be read. Does nothing if only a part of the
 * file was shown.
 */
async function witnessText(scene: ShownScene, event: ReadEvent): Told {
  const { content } = event;
  const resolved = scene.world.workspace.resolve(event.path);
  const isWhole = event.ranges === undefined && !('guessed' in event);
  if (!resolved.ok || content === undefined || !isWhole) return UNCREDITED;
  const bytes = Buffer.from(content, 'utf8');
  const seen = { fingerprint: fingerprintOf(bytes), stamp: undefined, racy: true, coverage: WHOLE };
  const { path } = resolved;
  const flags = { ...NO_FLAGS, redacted: event.redacted === true, clamped: event.clamped === true };
  const atMs = scene.world.now();
  await recordView(
    scene,
    { ...seen, key: path.key, totalLines: countLines(bytes), flags, how: 'read', atMs },
    path,
  );
  return { ok: true, notices: [], credited: true };
}

/**
 * Records lines shown in a command's output: consecutive output lines that equal present lines of a
 * file count as seen. Returns false if there are none, or if the path is not a text file in the
 * workspace.
 */
export async function witnessOutput(scene: ShownScene, path: string, output: string): Promise<boolean> {
  const { world } = scene;
  const outcome = world.workspace.locate(path, 'read');
  if (!outcome.ok) return false;
  const { located } = outcome;
  try {
    if (!located.exists || !located.stats.isFile() || located.stats.size > MAX_PROVEN_BYTES) return false;
    const snapshot = await readSnapshot(located.place, {
      clock: world.disk.clock,
      maxBytes: MAX_PROVEN_BYTES,
    });
    if ('problem' in snapshot || !isUtf8(snapshot.bytes) || looksBinary(snapshot.bytes)) return false;
    const { bytes, fingerprint, stamp, racy } = snapshot;
    const lines = linesOf(bytes);
    const ranges = linesShownIn(output, lines);
    if (ranges.length === 0) return false;
    const coverage = linesCoverage(ranges, lines.length);
    const seen = { fingerprint, stamp, racy, coverage, totalLines: lines.length, flags: NO_FLAGS };
    world.baselines.remember(fingerprint, bytes);
    const { path: place } = located.place;
    await recordView(scene, { ...seen, key: place.key, how: 'read', atMs: world.now() }, place);
    return true;
  } finally {
    located.place.dir.close();
  }
}

/** Larger files are not compared with the output of commands. */
const MAX_PROVEN_BYTES = 8 << 20;

interface ShownNow {
  readonly sighting: Omit<Sighting, 'key' | 'how' | 'atMs'>;
  /** The whole file as it was shown, if known. */
  readonly bytes: Uint8Array | undefined;
  readonly current: boolean;
}

/**
 * The part of a file that an answer showed. Present bytes count only if the answer's text proves that
 * it showed them, or if the file did not change during the call (`before`).
 */
function shownBy(event: ReadEvent, snapshot: Snapshot): ShownNow {
  const isChanged = 'before' in event && event.before !== snapshot.fingerprint.sha256;
  if (event.content === undefined && isChanged) return unseen(snapshot);
  if (event.content === undefined || !('guessed' in event)) return shownOf(event, snapshot);
  const shown = shownOf(event, snapshot);
  if (shown.current || isChanged) return shown;
  return guessedShown(event.content, snapshot);
}

/**
 * The part of an unchanged file that a text showed which differs from it: exactly those lines that
 * the text contains.
 */
function guessedShown(content: string, snapshot: Snapshot): ShownNow {
  const { bytes, fingerprint, stamp, racy } = snapshot;
  if (bytes.length > MAX_PROVEN_BYTES) return unseen(snapshot);
  const seen = { fingerprint, stamp, racy };
  if (!isUtf8(bytes) || looksBinary(bytes)) {
    const flags = { ...NO_FLAGS, notText: true, clamped: true };
    const totalLines = countFileLines(bytes);
    return { sighting: { ...seen, coverage: WHOLE, totalLines, flags }, bytes, current: true };
  }
  const lines = linesOf(bytes);
  const coverage = linesCoverage(linesShownIn(withJsonStrings(content), lines), lines.length);
  return {
    sighting: { ...seen, coverage, totalLines: lines.length, flags: NO_FLAGS },
    bytes,
    current: true,
  };
}

/** Nothing counts as seen: it is unknown which bytes of the file were shown. */
function unseen({ fingerprint, stamp, racy }: Snapshot): ShownNow {
  const seen = { fingerprint, stamp, racy, totalLines: undefined, flags: NO_FLAGS };
  return { sighting: { ...seen, coverage: NOTHING }, bytes: undefined, current: true };
}

function linesOf(bytes: Buffer): string[] {
  const lines = bytes.toString('utf8').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** Adds the strings of a JSON text, unescaped: some servers return a file as a field of an object. */
function withJsonStrings(text: string): string {
  const strings: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === 'string') strings.push(value);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect);
  };
  if (/^\s*[[{]/.test(text)) collect(parseJson(text));
  return [text, ...strings].join('\n');
}

function shownOf(event: ReadEvent, snapshot: Snapshot): ShownNow {
  const { bytes, fingerprint, stamp, racy } = snapshot;
  const totalLines = countFileLines(bytes);
  const flags = flagsShown(event, bytes);
  const ranges = event.ranges?.map((range) => within(range, totalLines));
  const { content } = event;
  const isThere = content === undefined || matches(content, bytes, ranges);
  if (isThere) {
    const coverage: Coverage = ranges === undefined ? WHOLE : linesCoverage(ranges, totalLines);
    // Treat a file that is not UTF-8 as not text: a server that shows U+FFFD in place of its bytes
    // would write U+FFFD, too.
    const notText = flags.notText || (content !== undefined && !isUtf8(bytes));
    const seen = { fingerprint, stamp, racy, coverage, totalLines, flags: { ...flags, notText } };
    return { sighting: seen, bytes, current: true };
  }
  // The lines come from an earlier state of the file. The other lines of that state are unknown, so
  // nothing counts as seen.
  if (ranges !== undefined) return { ...unseen(snapshot), current: false };
  const older = Buffer.from(content, 'utf8');
  const seen = { fingerprint: fingerprintOf(older), stamp: undefined, racy: true, coverage: WHOLE };
  return { sighting: { ...seen, totalLines: countLines(older), flags }, bytes: older, current: false };
}

function matches(content: string, bytes: Buffer, ranges: readonly LineRange[] | undefined): boolean {
  const there =
    ranges === undefined ? bytes : Buffer.concat(ranges.map((range) => sliceLineBytes(bytes, range)));
  return sameLines(Buffer.from(content, 'utf8'), there);
}

/** Converts a range that may count from the end to one that counts from the beginning. */
function within(range: LineRange, totalLines: number): LineRange {
  const place = (line: number): number => (line < 0 ? totalLines + 1 + line : line);
  return { from: Math.max(1, place(range.from)), to: Math.min(place(range.to), totalLines) };
}

/** Records which lines the session has seen, together with a journal entry. */
export async function recordView(
  { ledger, times }: ShownScene,
  sighting: Sighting,
  path: { readonly root: string; readonly relative: string },
): Promise<void> {
  const { coverage, fingerprint, atMs } = sighting;
  if (times !== undefined) await ledger.willShow([sighting], times);
  const lines = coverage.kind === 'lines' ? formatRanges(coverage.ranges) : 'whole';
  await ledger.record([sighting], {
    entries: [
      {
        kind: 'read',
        action: 'read',
        atMs,
        ...ledger.author,
        root: path.root,
        path: path.relative,
        lines,
        ...(fingerprint === undefined ? {} : { sha256: fingerprint.sha256 }),
        ...defined({ shown: shownAs(sighting.flags) }),
      },
    ],
  });
}

/**
 * Stores the bytes that another program's changes are about to destroy, and syncs all of them at
 * once. Makes copies, never links, because that program may write into the existing files. A file
 * that only moves is not destroyed. `here`: in a fleet, the bytes stay on this machine.
 */
export async function keepBefore(
  world: World,
  effects: readonly Effect[],
  where: 'shared' | 'here' = 'shared',
): Promise<void> {
  const kept: Fingerprint[] = [];
  for (const effect of effects) {
    const stored = await storeBefore(world, effect, where);
    if (stored !== undefined) kept.push(stored);
  }
  if (world.policy.durability !== 'none' && kept.length > 0) await syncImages(world, kept);
}

/**
 * Stores the bytes that a change would destroy and returns their fingerprint. The caller must sync
 * the bytes even if a copy existed: copies made for diffs are not synced.
 */
async function storeBefore(
  world: World,
  { key, relative, before, movedTo }: Effect,
  where: 'shared' | 'here',
): Promise<Fingerprint | undefined> {
  if (before.kind !== 'file' || movedTo !== undefined) return undefined;
  const { images } = world;
  const { sha256 } = before.fingerprint;
  const isHere = where === 'here' ? images.hasHere?.(sha256, 'rely') : undefined;
  if (await (isHere ?? images.has(sha256, 'rely'))) return before.fingerprint;
  const snapshot = await snapshotAt(world, key);
  if (snapshot === undefined)
    throw new Fault('IO_FAILED', `cannot keep the present bytes of ${key}`, { path: key });
  const { bytes, fingerprint } = snapshot;
  const keeping = where === 'here' ? images.keepHere?.(bytes, fingerprint, 'none') : undefined;
  await (keeping ?? keepBytesOf(world, relative, snapshot, 'none'));
  return fingerprint;
}

export interface ChangedElsewhere {
  readonly notice: Notice;
  readonly credit: Sighting;
  readonly untold: Sighting;
}

/**
 * The notice that shows a session what another writer changed in a file since the session saw it.
 * `credit`: the lines that count as seen once the notice is sent; `untold`: until then. Undefined
 * if there are no such changes.
 */
export async function changedElsewhere(
  { world, ledger }: ShownScene,
  { key, before }: Effect,
): Promise<ChangedElsewhere | undefined> {
  if (before.kind !== 'file') return undefined;
  const sighting = await ledger.recall(key);
  if (sighting?.fingerprint === undefined) return undefined;
  if (sameFingerprint(sighting.fingerprint, before.fingerprint)) return undefined;
  const snapshot = await snapshotAt(world, key);
  const change = snapshot === undefined ? undefined : await outsideChange(world, sighting, snapshot);
  if (snapshot === undefined || change === undefined) return undefined;
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  const credit = creditFor(world, { sighting, snapshot, change });
  const ranges = change.stillSeen;
  return {
    notice: { kind: 'changed-elsewhere', diff: change.diff, truncated: change.truncated },
    credit,
    untold: { ...credit, coverage: ranges.length === 0 ? NOTHING : { kind: 'lines', ranges } },
  };
}
