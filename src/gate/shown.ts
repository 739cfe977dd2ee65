import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { linesShownIn } from '../dialect/calls/shown/output-lines.ts';
import { fingerprintOf, readSnapshot, type Snapshot } from '../disk/read.ts';
import { bytesSeenWhole } from '../judge/known.ts';
import { type LineRange, linesCoverage, NOTHING, WHOLE } from '../model/coverage.ts';
import type { NewEntry } from '../model/entry.ts';
import { type Fingerprint, sameFingerprint } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import { defined, parseJson } from '../model/record.ts';
import type { WitnessEvent } from '../model/results.ts';
import { NO_FLAGS, type Sighting, type SightingFlags, shownAs } from '../model/sighting.ts';
import type { Outcome } from '../model/verdict.ts';
import { formatRanges } from '../report/amounts.ts';
import { decodeText, hasNul, looksBinary, withoutMark } from '../text/decode.ts';
import { countFileLines } from '../text/file-lines.ts';
import { countLines, sameLines, sliceLineBytes } from '../text/lines.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Located } from '../workspace/workspace.ts';
import { presentSighting } from './found.ts';
import { trusted } from './look.ts';
import { entryHead, type World } from './world.ts';

/** A read by another program. Its text alone may not show which version of the file was read. */
export type ReadEvent = Extract<WitnessEvent, { kind: 'read' }> & {
  /** `output`: the lines came from a diff, which does not count as a read. */
  readonly how?: 'output' | undefined;
  /** The hash of the file's bytes before the call. Shows whether the file changed during the call. */
  readonly before?: string | undefined;
  /** True if the tool is unknown: its text may or may not be the file's content. */
  readonly guessed?: true;
};

/** The output of a command or search that names a file. */
interface OutputEvent {
  readonly path: string;
  readonly output: string;
  /** `read`: in a client without a read tool, the command certainly prints the file. */
  readonly how?: 'read' | 'output';
}

/** `credited`: at least one line counts as seen. `current`: the file still has the shown text. */
interface Shown {
  readonly credited: boolean;
  readonly current: boolean;
}

/** In larger files, no shown lines are searched for. */
const MAX_PROVEN_BYTES = 8 << 20;

const UNCREDITED = { ok: true, credited: false, current: true } as const;

export interface ShownScene {
  readonly world: World;
  /** The session in the call that shows something: the shown lines count only for later calls. */
  readonly knowledge: Knowledge;
}

/**
 * Records what another program's read showed. The shown text counts, not the file's present bytes:
 * if they differ, the session's next change is refused as STALE, not as NOT_READ. Files larger than
 * `maxEditBytes` are not recorded.
 */
export async function shown(scene: ShownScene, event: ReadEvent): Promise<Outcome<Shown>> {
  const { world, knowledge } = scene;
  const record = async (located: Located): Promise<Outcome<Shown>> => {
    if (!located.exists) return await shownText(scene, event);
    const { path } = located.place;
    const earlier = await knowledge.recall(path.key);
    const limits = { clock: world.disk.clock, maxBytes: LIMITS.maxEditBytes, known: trusted(earlier) };
    const snapshot = await readSnapshot(located.place, limits);
    if ('problem' in snapshot)
      return snapshot.problem === 'denied' ? await shownText(scene, event) : UNCREDITED;
    const { sighting: seen, bytes, current, how = howOf(event) } = shownBy(event, snapshot);
    const sighting = { ...seen, key: path.key, how, atMs: world.now() };
    if (bytes !== undefined && sighting.fingerprint !== undefined)
      world.baselines.remember(sighting.fingerprint, bytes);
    if (sighting.coverage.kind === 'none') return { ok: true, credited: false, current };
    // Older text does not replace what the session knows of the present bytes.
    if (!current && earlier !== undefined && sawWhole(earlier, snapshot.fingerprint)) {
      await knowledge.record([], { entries: [entryOf(scene, sighting, path)] });
      return { ok: true, credited: current, current };
    }
    await recordView(scene, sighting, path);
    return { ok: true, credited: current, current };
  };
  return world.workspace.at({ path: event.path, action: 'read' }, record, (refused) => refused);
}

function howOf(event: ReadEvent): 'read' | 'output' {
  return 'how' in event ? (event.how ?? 'read') : 'read';
}

function sawWhole(earlier: Sighting, bytes: Fingerprint): boolean {
  return bytesSeenWhole(earlier)?.some((seen) => sameFingerprint(seen, bytes)) === true;
}

/**
 * Records the shown text of a file that can no longer be read. Does nothing if only a part of the
 * file was shown.
 */
async function shownText(scene: ShownScene, event: ReadEvent): Promise<Outcome<Shown>> {
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
    { ...seen, key: path.key, totalLines: countLines(bytes), flags, how: howOf(event), atMs },
    path,
  );
  return { ok: true, credited: true, current: true };
}

interface ShownNow {
  readonly sighting: Omit<Sighting, 'key' | 'how' | 'atMs'>;
  /** The whole file as it was shown, if known. */
  readonly bytes: Uint8Array | undefined;
  readonly current: boolean;
  /** Set if the text is known to be no read of the file. */
  readonly how?: 'output';
}

/**
 * The part of a file that an answer showed. Present bytes count only if the answer's text proves that
 * it showed them, or if the file did not change during the call (`before`).
 */
function shownBy(event: ReadEvent, snapshot: Snapshot): ShownNow {
  const isChanged = 'before' in event && event.before !== snapshot.fingerprint.sha256;
  if (event.content === undefined && isChanged) return unseen(snapshot);
  const seen = shownOf(event, snapshot);
  if (event.content === undefined || !('guessed' in event) || seen.current || isChanged) return seen;
  return guessedShown(event, event.content, snapshot);
}

/**
 * The part of an unchanged file that a text showed which differs from it: exactly those lines that
 * the text contains.
 */
function guessedShown(event: ReadEvent, content: string, snapshot: Snapshot): ShownNow {
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
    sighting: { ...seen, coverage, totalLines: lines.length, flags: flagsShown(event, bytes) },
    bytes,
    current: true,
    ...(coverage.kind === 'whole' ? {} : { how: 'output' }),
  };
}

/** Nothing counts as seen: it is unknown which bytes of the file were shown. */
function unseen({ fingerprint, stamp, racy }: Snapshot): ShownNow {
  const seen = { fingerprint, stamp, racy, totalLines: undefined, flags: NO_FLAGS };
  return { sighting: { ...seen, coverage: NOTHING }, bytes: undefined, current: true };
}

/** The lines of a file in UTF-8, without their endings. */
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
  const ranges = event.ranges?.map((range) => within(range, totalLines)).filter(({ from, to }) => from <= to);
  const { content } = event;
  const match = content === undefined ? 'text' : matchOf(content, bytes, ranges);
  if (match !== 'none') {
    const coverage = ranges === undefined ? WHOLE : linesCoverage(ranges, totalLines);
    const notText = flags.notText || match === 'garbled';
    const seen = { fingerprint, stamp, racy, coverage, totalLines, flags: { ...flags, notText } };
    return { sighting: seen, bytes, current: true };
  }
  // If only some lines of an earlier state were shown, its other lines are unknown, so nothing
  // counts as seen.
  if (ranges !== undefined && linesCoverage(ranges, totalLines).kind !== 'whole')
    return { ...unseen(snapshot), current: false };
  const older = Buffer.from(content ?? '', 'utf8');
  const seen = { fingerprint: fingerprintOf(older), stamp: undefined, racy: true, coverage: WHOLE };
  const redacted = flags.redacted || MASKS.test(content ?? '');
  const sighting = { ...seen, totalLines: countLines(older), flags: { ...flags, redacted } };
  return { sighting, bytes: older, current: false };
}

/** Matches a mask of a value, by Lookfirst or by another program. */
const MASKS = /\[masked\]|\[REDACTED(?::[\w-]{1,64})?\]/;

/** Properties of bytes that another program showed: not text, with masked secrets, or cut short. */
function flagsShown(
  { redacted, clamped }: Pick<ReadEvent, 'redacted' | 'clamped'>,
  bytes: Uint8Array,
): SightingFlags {
  return { ...NO_FLAGS, notText: looksBinary(bytes), redacted: redacted === true, clamped: clamped === true };
}

/**
 * Compares a shown text with a file, or with the given lines of it. Line endings, encoding and byte
 * order mark are ignored, because no read shows them. `garbled`: the program does not know the
 * file's encoding and showed its bytes as UTF-8. It would write them back damaged.
 */
function matchOf(
  content: string,
  bytes: Buffer,
  ranges: readonly LineRange[] | undefined,
): 'text' | 'garbled' | 'none' {
  const given = Buffer.from(content, 'utf8');
  const isIn = (there: Buffer): boolean => {
    const parts = ranges?.map((range) => sliceLineBytes(there, range));
    return sameLines(given, there) || (parts !== undefined && sameLines(given, Buffer.concat(parts)));
  };
  // Most files are UTF-8, and need not be decoded. A NUL can be half a character of UTF-16.
  if (isUtf8(bytes) && !hasNul(bytes)) return isIn(bytes) || isIn(withoutMark(bytes)) ? 'text' : 'none';
  const decoded = decodeText(bytes);
  if (decoded !== undefined && isIn(Buffer.from(decoded.text, 'utf8'))) return 'text';
  return isIn(Buffer.from(bytes.toString('utf8'), 'utf8')) ? 'garbled' : 'none';
}

/** Converts a range that may count from the end to one that counts from the beginning. */
function within(range: LineRange, totalLines: number): LineRange {
  const place = (line: number): number => (line < 0 ? totalLines + 1 + line : line);
  return { from: Math.max(1, place(range.from)), to: Math.min(place(range.to), totalLines) };
}

/**
 * Records lines shown in a command's output: consecutive output lines that equal present lines of a
 * file count as seen. Returns false if there are none, or if the path is not a text file in the
 * workspace. `how`: `read` if the command is the client's way to read a file.
 */
export async function witnessOutput(
  scene: ShownScene,
  { path, output, how = 'output' }: OutputEvent,
): Promise<boolean> {
  const { world } = scene;
  const record = async (located: Located): Promise<boolean> => {
    if (!located.exists || !located.stats.isFile() || located.stats.size > MAX_PROVEN_BYTES) return false;
    const snapshot = await readSnapshot(located.place, {
      clock: world.disk.clock,
      maxBytes: MAX_PROVEN_BYTES,
    });
    if ('problem' in snapshot || !isUtf8(snapshot.bytes) || looksBinary(snapshot.bytes)) return false;
    const { bytes, fingerprint } = snapshot;
    const lines = linesOf(bytes);
    const ranges = linesShownIn(output, lines);
    if (ranges.length === 0) return false;
    const coverage = linesCoverage(ranges, lines.length);
    world.baselines.remember(fingerprint, bytes);
    const { path: place } = located.place;
    const seen = { key: place.key, coverage, totalLines: lines.length, flags: NO_FLAGS, how };
    await recordView(scene, presentSighting(world, snapshot, seen), place);
    return true;
  };
  return world.workspace.at({ path, action: 'read' }, record, () => false);
}

/** Records that a whole file is known, if its bytes equal the given ones. Returns false if they differ. */
export async function showsWhole(
  scene: ShownScene,
  file: { readonly path: string; readonly key: string },
  shown: Buffer,
): Promise<boolean> {
  const { world, knowledge } = scene;
  const record = async (located: Located): Promise<boolean> => {
    const { place } = located;
    if (!located.exists || !located.stats.isFile() || place.path.key !== file.key) return false;
    const known = trusted(await knowledge.recall(file.key));
    const limits = { clock: world.disk.clock, maxBytes: LIMITS.maxEditBytes, known };
    const snapshot = await readSnapshot(place, limits);
    if ('problem' in snapshot || !shown.equals(snapshot.bytes)) return false;
    const { bytes, fingerprint } = snapshot;
    world.baselines.remember(fingerprint, bytes);
    const flags = { ...NO_FLAGS, notText: looksBinary(bytes) };
    const { key } = place.path;
    const seen = { key, coverage: WHOLE, totalLines: countFileLines(bytes), flags, how: 'read' } as const;
    await recordView(scene, presentSighting(world, snapshot, seen), place.path);
    return true;
  };
  return world.workspace.at({ path: file.path, action: 'read' }, record, () => false);
}

/** Records which lines the session has seen, together with a journal entry. */
async function recordView(scene: ShownScene, sighting: Sighting, path: FilePlace): Promise<void> {
  await scene.knowledge.show([sighting], { entries: [entryOf(scene, sighting, path)] });
}

interface FilePlace {
  readonly root: string;
  readonly relative: string;
}

function entryOf({ knowledge }: ShownScene, sighting: Sighting, { root, relative }: FilePlace): NewEntry {
  const { coverage, fingerprint, flags, atMs } = sighting;
  return {
    kind: 'read',
    action: 'read',
    atMs,
    ...knowledge.author,
    root,
    path: relative,
    lines: coverage.kind === 'lines' ? formatRanges(coverage.ranges) : 'whole',
    ...(fingerprint === undefined ? {} : { sha256: fingerprint.sha256 }),
    ...defined({ shown: shownAs(flags) }),
  };
}

/** The result of a list, find or search, for the journal. */
export interface Look {
  readonly action: 'list' | 'search';
  /** The folder or file that was listed or searched, as the caller wrote it. */
  readonly path: string;
  /** The amount shown, such as `12 entries`. */
  readonly text: string;
  /** The shown text. Only its hash is stored. */
  readonly shown: string;
}

/** Journals a list, find or search: counts and a hash, never the text. */
export async function recordLook(world: World, knowledge: Knowledge, look: Look): Promise<void> {
  const resolved = world.workspace.resolve(look.path);
  const at = resolved.ok ? { root: resolved.path.root, path: resolved.path.relative } : { path: look.path };
  const entry: NewEntry = {
    kind: 'look',
    ...entryHead(world, knowledge),
    ...at,
    action: look.action,
    text: look.text,
    sha256: hash('sha256', look.shown, 'hex'),
  };
  await world.store.record({ entries: [entry] });
}
