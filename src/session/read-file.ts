import { kindOf, readSnapshot, type Snapshot } from '../disk/read.ts';
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
import { absenceOf, type Found } from '../workspace/workspace.ts';
import { type FileText, fittingLines, pageOf, readOutput, textOf, visibleText } from './file-text.ts';
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
    const shown = await (located.stats.size > LIMITS.hugeBytes ? readHuge(reading) : readWhole(reading));
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

/** Reads and shows a file that is not huge. */
async function readWhole(reading: OpenRead): Promise<Shown | Refusal> {
  const { world, path, located } = reading;
  const known = trusted(reading.earlier);
  const snapshot =
    (reading.from === 'memory' ? rememberedSnapshot(world, located, known) : undefined) ??
    (await readSnapshot(located.place, { clock: world.disk.clock, seen: located.stats, known }));
  if ('problem' in snapshot) return unreadableRefusal(path, snapshot);
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  const media = sniffMedia(snapshot.bytes, path);
  const file = media === undefined ? textOf(snapshot.bytes) : undefined;
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
  const page = pageOf(text, range, options.raw === true ? 'raw' : 'shown');
  const { encoding } = text;
  const [from, to] = totalLines === 0 ? [0, 0] : [range.from, range.to];
  const isWhole = range.from === 1 && range.to === totalLines;
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
      text: raw ? show(bytes.toString('utf8')) : '',
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
  const { knowledge, earlier, watching, options } = reading;
  const unseen = { ...shown.sighting, coverage: NOTHING };
  // With `credit: false`, the text is shown to a program, not to the model, so nothing counts as seen.
  if (options.credit === false) return resultOf(reading, shown, unseen);
  return unlessStoreFails<Outcome<ReadResult>>(
    async () => {
      const call = knowledge.during(watching.times);
      const known = await call.note(shown.sighting, earlier, entryOf(reading, shown));
      return withClaims(reading, shown, resultOf(reading, shown, known));
    },
    // Without the store, the file does not count as seen, and the result says so.
    () => ({ ...resultOf(reading, shown, unseen), notices: [{ kind: 'not-noted' }] }),
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
  const complete = coverage.kind === 'whole' && fingerprint !== undefined && showsAll(flags);
  const revision = complete ? { revision: world.revisionOf(fingerprint) } : {};
  return { ok: true, path, ...result, complete, ...revision };
}

/** Adds a notice if other sessions work on the file. */
async function withClaims(
  { world, knowledge, located }: OpenRead,
  { sighting }: Shown,
  result: { ok: true } & ReadResult,
): Promise<Outcome<ReadResult>> {
  const file = located.place.path;
  const claims = world.claims.untold(knowledge, file);
  if (claims.length === 0) return result;
  const told = await world.claims.claimNotice(knowledge, { file, claims, live: sighting.fingerprint });
  if (told === undefined) return result;
  told.confirm();
  await world.store.note({ views: [], entries: [told.entry] });
  return { ...result, notices: [told.notice] };
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
