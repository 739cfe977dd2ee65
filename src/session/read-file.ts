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
import { unlessStoreFails } from '../model/fault.ts';
import { sameFingerprint } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import { isOutputPath } from '../model/path.ts';
import { defined } from '../model/record.ts';
import type { ReadResult } from '../model/results.ts';
import { NO_FLAGS, type Sighting, shownAs, showsAll } from '../model/sighting.ts';
import { type Outcome, type Refusal, refused } from '../model/verdict.ts';
import { countLines } from '../text/lines.ts';
import { sniffMedia } from '../text/sniff-media.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { absenceOf, type Found, type Located } from '../workspace/workspace.ts';
import { type FileText, fileText, fittingLines, pageOf, readOutput, visibleText } from './file-text.ts';
import { readHuge } from './read-huge.ts';
import {
  notAFile,
  type OpenRead,
  type ReadRequest,
  rangeOf,
  type Shown,
  tooLarge,
  unreadableRefusal,
} from './reading.ts';

/** Media files up to this size are returned; larger ones are only described. */
const MAX_MEDIA_BYTES = 5 << 20;

/** Shows a file to the session, whole or in part, and records exactly what was shown. */
export async function readFile(
  world: World,
  knowledge: Knowledge,
  request: ReadRequest,
): Promise<Outcome<ReadResult>> {
  if (isOutputPath(request.path)) return readOutput(world, knowledge.session, request);
  const read = async (located: Located): Promise<Outcome<ReadResult>> => {
    const { path } = request;
    if (!located.exists)
      return refused({ code: 'NOT_FOUND', action: 'read', path, next: 'other_path', ...absenceOf(located) });
    const refusal = whyUnread(world, located, request);
    if (refusal !== undefined) return refused(refusal);
    const { key } = located.place.path;
    // A read destroys nothing, so it succeeds without the store.
    const earlier = await unlessStoreFails(
      () => knowledge.recall(key),
      () => undefined,
    );
    const reading: OpenRead = { ...request, world, knowledge, located, earlier };
    const shown =
      located.stats.size > LIMITS.hugeBytes
        ? await readHuge(reading)
        : showWhole(reading, snapshotNow(reading) ?? (await readSnapshot(located.place, limitsOf(reading))));
    return 'code' in shown ? refused(shown) : recorded(reading, shown);
  };
  return world.workspace.at({ path: request.path, action: 'read' }, read, (denied) => denied);
}

/** The reason why a file is not opened, for example because it is a folder; undefined for a readable file. */
function whyUnread(world: World, located: Found, { path, options }: ReadRequest): Refusal | undefined {
  const kind = kindOf(located.stats);
  if (kind !== 'file') return notAFile(path, kind);
  const sizeBytes = Number(located.stats.size);
  const { maxBytes: limitBytes = Number.POSITIVE_INFINITY } = options;
  return (
    secretRefusal(world, path, located.place.path.relative) ??
    (sizeBytes > limitBytes ? tooLarge(path, { sizeBytes, limitBytes }) : undefined)
  );
}

/** The file's bytes; undefined if reading them needs time. */
function snapshotNow({ world, located, earlier, from }: OpenRead): Snapshot | undefined {
  const remembered = from === 'memory' ? rememberedSnapshot(world, located, trusted(earlier)) : undefined;
  return remembered ?? readNow(located.place, limitsOf({ world, located, earlier }));
}

function limitsOf({ world, located, earlier }: Pick<OpenRead, 'world' | 'located' | 'earlier'>): ReadLimits {
  return { clock: world.disk.clock, seen: located.stats, known: trusted(earlier) };
}

/** Shows a file that is not huge. */
function showWhole(reading: OpenRead, snapshot: Snapshot | Unreadable): Shown | Refusal {
  const { world, path } = reading;
  if ('problem' in snapshot) return unreadableRefusal(path, snapshot);
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  const media = sniffMedia(snapshot.bytes, path);
  const file = media === undefined ? fileText(snapshot.bytes) : undefined;
  return file === undefined ? describe(reading, snapshot, media) : showLines(reading, snapshot, file);
}

function showLines(reading: OpenRead, snapshot: Snapshot, file: FileText): Shown | Refusal {
  const { earlier, world, options } = reading;
  const { fingerprint } = snapshot;
  const isSame = earlier?.fingerprint !== undefined && sameFingerprint(earlier.fingerprint, fingerprint);
  const totalLines = (isSame ? earlier.totalLines : undefined) ?? countLines(file.body);
  const asked = rangeOf(reading, totalLines);
  if ('code' in asked) return asked;
  const path = reading.located.place.path.relative;
  const wasMasked = isSame && earlier.flags.redacted;
  const { text, masked } = visibleText(world, file, { path, fingerprint, wasMasked });
  const range = options.raw === true ? asked : fittingLines(text.body, asked, reading.maxAnswerBytes);
  const isWhole = range.from === 1 && range.to === totalLines;
  const page = pageOf(text, isWhole ? 'all' : range, options.raw === true ? 'raw' : 'shown');
  const { encoding } = text;
  const [from, to] = totalLines === 0 ? [0, 0] : [range.from, range.to];
  const clamped = page.clamped.length > 0;
  const redacted = masked.some((lines) => lines.from <= range.to && range.from <= lines.to);
  const sighting = {
    coverage: isWhole ? WHOLE : linesCoverage([range], totalLines),
    totalLines,
    flags: clamped || redacted ? { ...NO_FLAGS, clamped, redacted } : NO_FLAGS,
  };
  return {
    result: { ...page, from, to, totalLines, sizeBytes: fingerprint.size, encoding },
    sighting: sightingOf(reading, snapshot, sighting),
  };
}

/** Shows a file that is not text: its type, and its bytes if they can be shown as media. */
function describe(reading: OpenRead, snapshot: Snapshot, media: string | undefined): Shown {
  const { bytes, fingerprint } = snapshot;
  const mimeType = media ?? 'application/octet-stream';
  const isShown = media !== undefined && bytes.byteLength <= MAX_MEDIA_BYTES;
  const raw = reading.options.raw === true;
  const show = maskFor(reading.world, reading.located.place.path.relative);
  return {
    result: {
      text: () => (raw ? show(bytes.toString('utf8')) : ''),
      from: 0,
      to: 0,
      totalLines: undefined,
      sizeBytes: fingerprint.size,
      encoding: 'binary',
      clamped: [],
      ...(raw ? { bytes } : {}),
      media: { mimeType, ...(isShown ? { base64: bytes.toString('base64') } : {}) },
    },
    sighting: sightingOf(reading, snapshot, {
      coverage: WHOLE,
      totalLines: undefined,
      flags: { ...NO_FLAGS, notText: true },
    }),
  };
}

function sightingOf(
  { world, located }: OpenRead,
  { fingerprint, stamp, racy }: Snapshot,
  shown: Pick<Sighting, 'coverage' | 'totalLines' | 'flags'>,
): Sighting {
  return {
    key: located.place.path.key,
    fingerprint,
    stamp,
    racy,
    ...shown,
    how: 'read',
    atMs: world.now(),
  };
}

/** Records what was shown, and completes the result. */
async function recorded(reading: OpenRead, shown: Shown): Promise<Outcome<ReadResult>> {
  const { world, knowledge, earlier, watching, options, located } = reading;
  const unseen = { ...shown.sighting, coverage: NOTHING };
  // With `credit: false`, the text is shown to a program, not to the model, so nothing counts as seen.
  if (options.credit === false) return resultOf(reading, shown, unseen);
  return unlessStoreFails(
    async () => {
      const call = knowledge.during(watching.times);
      const known = await call.note(shown.sighting, earlier, entryOf(reading, shown));
      const result = resultOf(reading, shown, known);
      const claims = world.claims.untold(knowledge, located.place.path);
      return claims.length === 0 ? result : withClaims(reading, claims, { shown, result });
    },
    // Without the store, the file does not count as seen, and the result says so.
    () => Object.assign(resultOf(reading, shown, unseen), { notices: [{ kind: 'not-noted' as const }] }),
  );
}

/**
 * Completes the result of a read: adds whether the session has now seen the whole file and, if so,
 * the file's revision.
 */
function resultOf(
  { path, world, from: source }: OpenRead,
  { result }: Shown,
  { coverage, fingerprint, flags }: Sighting,
): { ok: true } & ReadResult {
  const complete = coverage.kind === 'whole' && fingerprint !== undefined && showsAll(flags);
  const answer = new ToolRead(path, result, complete ? world.revisionOf(fingerprint) : undefined);
  return source === 'memory' ? answer : { ...answer, text: answer.text };
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
  readonly #decode: () => string;
  #text: string | undefined;

  /** `revision`: undefined unless the session has now seen the whole file. */
  constructor(path: string, result: Shown['result'], revision: string | undefined) {
    this.path = path;
    this.from = result.from;
    this.to = result.to;
    this.totalLines = result.totalLines;
    this.sizeBytes = result.sizeBytes;
    this.encoding = result.encoding;
    this.clamped = result.clamped;
    this.complete = revision !== undefined;
    if (result.bytes !== undefined) this.bytes = result.bytes;
    if (result.media !== undefined) this.media = result.media;
    if (revision !== undefined) this.revision = revision;
    this.#decode = result.text;
  }

  get text(): string {
    this.#text ??= this.#decode();
    return this.#text;
  }
}

/** Adds a notice if other sessions work on the file. */
async function withClaims(
  { world, knowledge, located }: OpenRead,
  claims: ReturnType<World['claims']['untold']>,
  { shown, result }: { readonly shown: Shown; readonly result: { ok: true } & ReadResult },
): Promise<Outcome<ReadResult>> {
  const seen = { file: located.place.path, claims, live: shown.sighting.fingerprint };
  const told = await world.claims.claimNotice(knowledge, seen);
  if (told === undefined) return result;
  told.confirm();
  await world.store.note({ views: [], entries: [told.entry] });
  return Object.assign(result, { notices: [told.notice] });
}

/** The journal entry of a read. */
function entryOf({ knowledge, located }: OpenRead, { sighting, result }: Shown): NewEntry {
  const { coverage, flags, totalLines, fingerprint, atMs } = sighting;
  const { root, relative: path } = located.place.path;
  return {
    action: 'read',
    atMs,
    kind: 'read',
    lines: coverage.kind === 'whole' ? 'whole' : `${result.from}-${result.to}`,
    path,
    root,
    ...knowledge.author,
    ...defined({ sha256: fingerprint?.sha256, shown: shownAs(flags), totalLines }),
  };
}
