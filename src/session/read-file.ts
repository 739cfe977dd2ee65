import { kindOf, readNow, readSnapshot, type Snapshot, type Unreadable } from '../disk/read.ts';
import { rememberedSnapshot, trusted } from '../gate/look.ts';
import { maskFor, secretRefusal } from '../gate/masking.ts';
import type { World } from '../gate/world.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
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
import { absenceOf, type Found } from '../workspace/workspace.ts';
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
  const outcome = world.workspace.locate(request.path, 'read');
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  try {
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
    const isHuge = located.stats.size > LIMITS.hugeBytes;
    const shown = isHuge ? await readHuge(reading) : showWhole(reading, await snapshotOf(reading));
    return 'code' in shown ? refused(shown) : await recorded(reading, shown);
  } finally {
    located.place.dir.close();
  }
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

function snapshotOf({ world, located, earlier, from }: OpenRead): Awaitable<Snapshot | Unreadable> {
  const known = trusted(earlier);
  const limits = { clock: world.disk.clock, seen: located.stats, known };
  const remembered = from === 'memory' ? rememberedSnapshot(world, located, known) : undefined;
  return remembered ?? readNow(located.place, limits) ?? readSnapshot(located.place, limits);
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
  const { text, masked } = visibleText(world, file, { path, fingerprint });
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
function recorded(reading: OpenRead, shown: Shown): Awaitable<Outcome<ReadResult>> {
  const { world, knowledge, earlier, watching, options, located } = reading;
  const unseen = { ...shown.sighting, coverage: NOTHING };
  // With `credit: false`, the text is shown to a program, not to the model, so nothing counts as seen.
  if (options.credit === false) return resultOf(reading, shown, unseen);
  return unlessStoreFails<Outcome<ReadResult>>(
    () => {
      const call = knowledge.during(watching.times);
      return andThen(call.note(shown.sighting, earlier, entryOf(reading, shown)), (known) => {
        const result = resultOf(reading, shown, known);
        const claims = world.claims.untold(knowledge, located.place.path);
        return claims.length === 0 ? result : withClaims(reading, claims, { shown, result });
      });
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
  { path, world }: OpenRead,
  { result }: Shown,
  { coverage, fingerprint, flags }: Sighting,
): { ok: true } & ReadResult {
  const { text: decode, bytes, media, from, to, totalLines, sizeBytes, encoding, clamped } = result;
  const complete = coverage.kind === 'whole' && fingerprint !== undefined && showsAll(flags);
  let text: string | undefined;
  // Do not copy this object: a copy would decode the text, which not every caller needs.
  const answer: { ok: true } & { -readonly [K in keyof ReadResult]: ReadResult[K] } = {
    ok: true,
    path,
    get text() {
      text ??= decode();
      return text;
    },
    from,
    to,
    totalLines,
    sizeBytes,
    encoding,
    clamped,
    complete,
  };
  if (bytes !== undefined) answer.bytes = bytes;
  if (media !== undefined) answer.media = media;
  if (complete) answer.revision = world.revisionOf(fingerprint);
  return answer;
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
