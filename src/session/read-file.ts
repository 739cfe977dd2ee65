import {
  kindOf,
  type ReadLimits,
  readNow,
  readSnapshot,
  type Snapshot,
  type Unreadable,
} from '../disk/read.ts';
import { rememberedSnapshot, trusted } from '../gate/look.ts';
import { maskFor, secretRefusal } from '../gate/masking.ts';
import type { World } from '../gate/world.ts';
import { linesCoverage, NOTHING, WHOLE } from '../model/coverage.ts';
import type { NewEntry } from '../model/entry.ts';
import { mustBeOfStore } from '../model/fault.ts';
import { sameFingerprint } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import { isOutputPath } from '../model/path.ts';
import type { ReadResult } from '../model/results.ts';
import { NO_FLAGS, type Sighting, shownAs, showsAll } from '../model/sighting.ts';
import { type Outcome, type Refusal, refused } from '../model/verdict.ts';
import { countLines } from '../text/lines.ts';
import { sniffMedia } from '../text/sniff-media.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { absenceOf, type Found } from '../workspace/workspace.ts';
import { readHuge } from './read-huge.ts';
import {
  type FileText,
  fileText,
  fittingLines,
  notAFile,
  type OpenRead,
  type PageText,
  pageOf,
  type ReadRequest,
  rangeOf,
  readOutput,
  type Shown,
  tooLarge,
  unreadableRefusal,
  visibleText,
} from './reading.ts';

/** Media files up to this size are returned; larger ones are only described. */
const MAX_MEDIA_BYTES = 5 << 20;

/**
 * Shows a file to the session, whole or in part, and records exactly what was shown. Waits only for
 * large or changing files, and for a store on another machine.
 */
export function readFile(
  world: World,
  knowledge: Knowledge,
  request: ReadRequest,
): Outcome<ReadResult> | Promise<Outcome<ReadResult>> {
  const { path } = request;
  if (isOutputPath(path)) return readOutput(world, knowledge.session, request);
  const outcome = world.workspace.locate(path, 'read');
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  let later: Promise<Outcome<ReadResult>> | undefined;
  try {
    if (!located.exists)
      return refused({ code: 'NOT_FOUND', action: 'read', path, next: 'other_path', ...absenceOf(located) });
    const refusal = whyUnread(world, located, request);
    if (refusal !== undefined) return refused(refusal);
    const earlier = seenNow(knowledge, located.place.path.key);
    if (earlier !== 'later' && located.stats.size <= LIMITS.hugeBytes) {
      const reading: OpenRead = { request, world, knowledge, located, earlier };
      const snapshot = snapshotNow(reading);
      if (snapshot !== undefined) return finished(reading, showWhole(reading, snapshot));
    }
    later = readLater({ request, world, knowledge, located }, earlier);
    return later;
  } finally {
    if (later === undefined) located.place.dir.close();
  }
}

/** Continues a read that must wait. */
async function readLater(
  parts: Omit<OpenRead, 'earlier'>,
  seen: Sighting | 'later' | undefined,
): Promise<Outcome<ReadResult>> {
  const { knowledge, located } = parts;
  try {
    const { key } = located.place.path;
    const earlier = seen === 'later' ? await knowledge.recall(key).catch(mustBeOfStore) : seen;
    const reading: OpenRead = { ...parts, earlier };
    const shown =
      located.stats.size > LIMITS.hugeBytes
        ? await readHuge(reading)
        : showWhole(reading, snapshotNow(reading) ?? (await readSnapshot(located.place, limitsOf(reading))));
    return await finished(reading, shown);
  } finally {
    located.place.dir.close();
  }
}

/**
 * The session's knowledge of a file, or `later`. A read destroys nothing, so it succeeds without
 * the store.
 */
function seenNow(knowledge: Knowledge, key: string): Sighting | 'later' | undefined {
  try {
    return knowledge.recallNow(key);
  } catch (error) {
    return mustBeOfStore(error);
  }
}

/** The reason why a file is not opened, for example because it is a folder; undefined for a readable file. */
function whyUnread(world: World, located: Found, { path, options }: ReadRequest): Refusal | undefined {
  const kind = kindOf(located.stats);
  if (kind !== 'file') return notAFile(path, kind);
  const sizeBytes = Number(located.stats.size);
  const { maxBytes: limitBytes = Number.POSITIVE_INFINITY } = options;
  const { secrets } = world.policy;
  const refusal = secrets === 'refuse' ? secretRefusal(path, located.place.path.relative) : undefined;
  return refusal ?? (sizeBytes > limitBytes ? tooLarge(path, { sizeBytes, limitBytes }) : undefined);
}

/** The file's bytes; undefined if reading them needs time. */
function snapshotNow(reading: OpenRead): Snapshot | undefined {
  const { world, located, earlier, request } = reading;
  const isMemory = request.from === 'memory';
  const remembered = isMemory ? rememberedSnapshot(world, located, trusted(earlier)) : undefined;
  return remembered ?? readNow(located.place, limitsOf(reading));
}

function limitsOf({ world, located, earlier }: OpenRead): ReadLimits {
  return { clock: world.disk.clock, seen: located.stats, known: trusted(earlier) };
}

/** Shows a file that is not huge. */
function showWhole(reading: OpenRead, snapshot: Snapshot | Unreadable): Shown | Refusal {
  const { world, request } = reading;
  if ('problem' in snapshot) return unreadableRefusal(request.path, snapshot);
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  const media = sniffMedia(snapshot.bytes, request.path);
  const file = media === undefined ? fileText(snapshot.bytes) : undefined;
  return file === undefined ? describe(reading, snapshot, media) : showLines(reading, snapshot, file);
}

function showLines(reading: OpenRead, snapshot: Snapshot, file: FileText): Shown | Refusal {
  const { earlier, world, request } = reading;
  const { fingerprint } = snapshot;
  const isSame = earlier?.fingerprint !== undefined && sameFingerprint(earlier.fingerprint, fingerprint);
  const totalLines = (isSame ? earlier.totalLines : undefined) ?? countLines(file.body);
  const asked = rangeOf(request, totalLines);
  if ('code' in asked) return asked;
  const isRaw = request.options.raw === true;
  const path = reading.located.place.path.relative;
  const wasMasked = isSame && earlier.flags.redacted;
  const { text, masked } = visibleText(world, file, { path, fingerprint, wasMasked });
  const range = isRaw ? asked : fittingLines(text.body, asked, request.maxAnswerBytes);
  const isWhole = range.from === 1 && range.to === totalLines;
  const page = pageOf(text, isWhole ? 'all' : range, isRaw ? 'raw' : 'shown');
  const [from, to] = totalLines === 0 ? [0, 0] : [range.from, range.to];
  const clamped = page.clamped.length > 0;
  const redacted = masked.some((lines) => lines.from <= range.to && range.from <= lines.to);
  const sizeBytes = fingerprint.size;
  return {
    page,
    facts: { from, to, totalLines, sizeBytes, encoding: text.encoding },
    sighting: sightingOf(reading, snapshot, {
      coverage: isWhole ? WHOLE : linesCoverage([range], totalLines),
      totalLines,
      flags: clamped || redacted ? { ...NO_FLAGS, clamped, redacted } : NO_FLAGS,
    }),
  };
}

/** Shows a file that is not text: its type, and its bytes if they can be shown as media. */
function describe(reading: OpenRead, snapshot: Snapshot, media: string | undefined): Shown {
  const { bytes, fingerprint } = snapshot;
  const mimeType = media ?? 'application/octet-stream';
  const isShown = media !== undefined && bytes.byteLength <= MAX_MEDIA_BYTES;
  const isRaw = reading.request.options.raw === true;
  const show = maskFor(reading.world, reading.located.place.path.relative);
  const totalLines = undefined;
  return {
    page: {
      text: () => (isRaw ? show(bytes.toString('utf8')) : ''),
      bytes: isRaw ? bytes : undefined,
      clamped: [],
      media: { mimeType, ...(isShown ? { base64: bytes.toString('base64') } : {}) },
    },
    facts: { from: 0, to: 0, totalLines, sizeBytes: fingerprint.size, encoding: 'binary' },
    sighting: sightingOf(reading, snapshot, {
      coverage: WHOLE,
      totalLines,
      flags: { ...NO_FLAGS, notText: true },
    }),
  };
}

function sightingOf(
  { world, located }: OpenRead,
  { fingerprint, stamp, racy }: Snapshot,
  { coverage, totalLines, flags }: Pick<Sighting, 'coverage' | 'totalLines' | 'flags'>,
): Sighting {
  const { key } = located.place.path;
  const atMs = world.now();
  return { key, fingerprint, stamp, racy, coverage, totalLines, flags, how: 'read', atMs };
}

/** Records what was shown, and completes the result. */
function finished(
  reading: OpenRead,
  shown: Shown | Refusal,
): Outcome<ReadResult> | Promise<Outcome<ReadResult>> {
  if ('code' in shown) return refused(shown);
  const { knowledge, earlier, request } = reading;
  // With `credit: false`, the text is shown to a program, not to the model, so nothing counts as seen.
  if (request.options.credit === false) return resultOf(reading, shown, UNSEEN);
  const unnoted = (error: unknown): Outcome<ReadResult> => {
    // Without the store, the file does not count as seen, and the result says so.
    mustBeOfStore(error);
    return Object.assign(resultOf(reading, shown, UNSEEN), { notices: [{ kind: 'not-noted' as const }] });
  };
  try {
    const call = knowledge.during(request.watching.times);
    const known = call.note(shown.sighting, earlier, entryOf(reading, shown));
    const result =
      known instanceof Promise
        ? known.then((seen) => withClaims(reading, shown, seen))
        : withClaims(reading, shown, known);
    return result instanceof Promise ? result.catch(unnoted) : result;
  } catch (error) {
    return unnoted(error);
  }
}

/** The session's knowledge of the file after a read that counts for nothing. */
const UNSEEN: Pick<Sighting, 'coverage' | 'fingerprint' | 'flags'> = {
  coverage: NOTHING,
  fingerprint: undefined,
  flags: NO_FLAGS,
};

/**
 * Completes the result of a read: adds whether the session has now seen the whole file and, if so,
 * the file's revision.
 */
function resultOf(
  { request, world }: OpenRead,
  shown: Shown,
  { coverage, fingerprint, flags }: typeof UNSEEN,
): { ok: true } & ReadResult {
  const complete = coverage.kind === 'whole' && fingerprint !== undefined && showsAll(flags);
  const answer = new ToolRead(request.path, shown, complete ? world.revisionOf(fingerprint) : undefined);
  return request.from === 'memory' ? answer : { ...answer, text: answer.text };
}

/** A read for a tool. Its text is decoded only if it is asked for, because a server sends bytes. */
class ToolRead implements ReadResult {
  readonly ok = true;
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly totalLines: number | undefined;
  readonly sizeBytes: number;
  readonly encoding: string;
  readonly clamped: readonly number[];
  readonly complete: boolean;
  // `declare`: absent unless they are set.
  declare readonly bytes?: Uint8Array;
  declare readonly media?: NonNullable<ReadResult['media']>;
  declare readonly revision?: string;
  readonly #page: PageText;

  /** `revision`: undefined unless the session has now seen the whole file. */
  constructor(path: string, { page, facts }: Shown, revision: string | undefined) {
    this.path = path;
    this.from = facts.from;
    this.to = facts.to;
    this.totalLines = facts.totalLines;
    this.sizeBytes = facts.sizeBytes;
    this.encoding = facts.encoding;
    this.clamped = page.clamped;
    this.complete = revision !== undefined;
    if (page.bytes !== undefined) this.bytes = page.bytes;
    if (page.media !== undefined) this.media = page.media;
    if (revision !== undefined) this.revision = revision;
    this.#page = page;
  }

  get text(): string {
    return this.#page.text();
  }
}

/** The result, with a notice if other sessions work on the file. */
function withClaims(
  reading: OpenRead,
  shown: Shown,
  known: typeof UNSEEN,
): Outcome<ReadResult> | Promise<Outcome<ReadResult>> {
  const { world, knowledge, located } = reading;
  const result = resultOf(reading, shown, known);
  const claims = world.claims.untold(knowledge, located.place.path);
  if (claims.length === 0) return result;
  const seen = { file: located.place.path, claims, live: shown.sighting.fingerprint };
  return world.claims.claimNotice(knowledge, seen).then(async (told) => {
    if (told === undefined) return result;
    told.confirm();
    await world.store.note({ views: [], entries: [told.entry] });
    return Object.assign(result, { notices: [told.notice] });
  });
}

/** The journal entry of a read. */
function entryOf({ knowledge, located }: OpenRead, { sighting, facts }: Shown): NewEntry {
  const { coverage, flags, totalLines, fingerprint, atMs } = sighting;
  const { root, relative: path } = located.place.path;
  const lines = coverage.kind === 'whole' ? 'whole' : `${facts.from}-${facts.to}`;
  const { session, turn } = knowledge;
  const entry: Writable<NewEntry> = { action: 'read', atMs, kind: 'read', lines, path, root, session };
  // Assigned one by one, because spreading objects takes longer than the rest of this function; in
  // the order of their names, because the journal stores them so.
  if (fingerprint !== undefined) entry.sha256 = fingerprint.sha256;
  const shown = shownAs(flags);
  if (shown !== undefined) entry.shown = shown;
  if (totalLines !== undefined) entry.totalLines = totalLines;
  if (turn !== undefined) entry.turn = turn;
  return entry;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };
