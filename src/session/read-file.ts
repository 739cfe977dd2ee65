import { kindOf, readNow, readSnapshot, type Snapshot, type Unreadable } from '../disk/read.ts';
import { rememberedSnapshot, trusted } from '../gate/look.ts';
import { maskFor, secretRefusal } from '../gate/masking.ts';
import type { World } from '../gate/world.ts';
import { type Awaitable, andThen } from '../model/awaitable.ts';
import { type LineRange, linesCoverage, NOTHING, WHOLE } from '../model/coverage.ts';
import { unlessStoreFails } from '../model/fault.ts';
import { sameFingerprint } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import { isOutputPath } from '../model/path.ts';
import type { ReadResult } from '../model/results.ts';
import { NO_FLAGS, type Sighting, type SightingFlags } from '../model/sighting.ts';
import { type Outcome, type Refusal, refused } from '../model/verdict.ts';
import { countFileLines } from '../text/file-lines.ts';
import { sniffMedia } from '../text/sniff-media.ts';
import type { Knowledge } from '../views/knowledge.ts';
import { absenceOf, type Located } from '../workspace/workspace.ts';
import {
  type FileText,
  fittingLines,
  lazily,
  type PageOptions,
  type PageText,
  pageText,
  readOutput,
  shownPage,
  type VisibleText,
  visibleText,
} from './masked-text.ts';
import { readHuge } from './read-huge.ts';
import {
  entryOf,
  notAFile,
  type OpenRead,
  rangeOf,
  readResult,
  type Shown,
  tooLarge,
  unreadableRefusal,
  withClaims,
} from './reading.ts';

/**
 * Texts up to this size are decoded at once: that costs less than preparing to decode them later.
 */
const EAGER_BYTES = 8 << 10;
/** Media files up to this size are returned; larger ones are only described. */
const MAX_MEDIA_BYTES = 5 << 20;

/** The path and options of a read. */
export interface ReadRequest extends Pick<OpenRead, 'path' | 'options' | 'watching' | 'from' | 'pageEnds'> {
  /** Maximum number of bytes of lines in the answer, if it is less than the policy's setting. */
  readonly maxAnswerBytes?: number | undefined;
}

/**
 * Shows a file to the session, whole or in part, and records exactly what was shown. A small file is read
 * synchronously.
 */
export function readFile(
  world: World,
  knowledge: Knowledge,
  request: ReadRequest,
): Awaitable<Outcome<ReadResult>> {
  if (isOutputPath(request.path)) return readOutput(world, knowledge.session, request);
  const outcome = world.workspace.locate(request.path, 'read');
  if (!outcome.ok) return outcome;
  const { located } = outcome;
  let read: Awaitable<Outcome<ReadResult>>;
  try {
    read = readLocated(located, { world, knowledge, request });
  } catch (error) {
    located.place.dir.close();
    throw error;
  }
  if (read instanceof Promise) return read.finally(() => located.place.dir.close());
  located.place.dir.close();
  return read;
}

function readLocated(
  located: Located,
  { world, knowledge, request }: { world: World; knowledge: Knowledge; request: ReadRequest },
): Awaitable<Outcome<ReadResult>> {
  const { path, options } = request;
  if (!located.exists)
    return refused({ code: 'NOT_FOUND', action: 'read', path, next: 'other_path', ...absenceOf(located) });
  const kind = kindOf(located.stats);
  if (kind !== 'file') return refused(notAFile(path, kind));
  const secret = secretRefusal(world, path, located.place.path.relative);
  if (secret !== undefined) return refused(secret);
  const sizeBytes = Number(located.stats.size);
  const { maxBytes: limitBytes = Number.POSITIVE_INFINITY } = options;
  if (sizeBytes > limitBytes) return refused(tooLarge(path, { sizeBytes, limitBytes }));
  return andThen(recallIfPossible(knowledge, located.place.path.key), (earlier) => {
    // The fields are named one by one, because spreading the request takes longer than locating the file.
    const { watching, from, pageEnds, maxAnswerBytes: room = Number.POSITIVE_INFINITY } = request;
    const maxAnswerBytes = Math.min(room, world.policy.maxAnswerBytes);
    const reading: OpenRead = {
      world,
      knowledge,
      path,
      options,
      watching,
      from,
      located,
      earlier,
      pageEnds,
      maxAnswerBytes,
    };
    return andThen(show(reading, sizeBytes), (shown) => {
      if ('code' in shown) return refused(shown);
      // With `credit: false`, the text is shown to a program, not to the model, so nothing counts as seen.
      if (options.credit === false)
        return readResult(reading, shown, { ...shown.sighting, coverage: NOTHING });
      // A read destroys nothing, so it succeeds without the store. The file then does not count as
      // seen, and the result says so.
      return unlessStoreFails(
        () => {
          const noted = knowledge
            .during(watching.times)
            .note(shown.sighting, earlier, entryOf(reading, shown));
          return andThen(noted, (known) => withClaims(reading, shown, readResult(reading, shown, known)));
        },
        () => unnotedResult(reading, shown),
      );
    });
  });
}

function recallIfPossible(knowledge: Knowledge, key: string): Awaitable<Sighting | undefined> {
  return unlessStoreFails(
    () => knowledge.recall(key),
    () => undefined,
  );
}

function unnotedResult(reading: OpenRead, shown: Shown): Outcome<ReadResult> {
  const unseen = { ...shown.sighting, coverage: NOTHING };
  const result = readResult(reading, shown, unseen);
  // Add the notice to the object itself. `text` may be a getter, which a copy would either run or
  // lose.
  return result.ok ? Object.assign(result, { notices: [{ kind: 'not-noted' as const }] }) : result;
}

function show(reading: OpenRead, sizeBytes: number): Awaitable<Shown | Refusal> {
  if (sizeBytes > LIMITS.hugeBytes) return readHuge(reading);
  return andThen(snapshotOf(reading), (snapshot) => showWhole(reading, snapshot));
}

function snapshotOf(reading: OpenRead): Awaitable<Snapshot | Unreadable> {
  const { world, located, earlier } = reading;
  const known = trusted(earlier);
  const remembered = reading.from === 'memory' ? rememberedSnapshot(world, located, known) : undefined;
  const limits = { clock: world.disk.clock, seen: located.stats, known };
  return remembered ?? readNow(located.place, limits) ?? readSnapshot(located.place, limits);
}

function showWhole(reading: OpenRead, snapshot: Snapshot | Unreadable): Shown | Refusal {
  const { world, path } = reading;
  if ('problem' in snapshot) return unreadableRefusal(path, snapshot);
  world.baselines.remember(snapshot.fingerprint, snapshot.bytes);
  const media = sniffMedia(snapshot.bytes, path);
  const file = media === undefined ? pageText(snapshot.bytes) : undefined;
  if (file === undefined) return describe(reading, snapshot, media);
  return showLines(reading, snapshot, file);
}

function showLines(reading: OpenRead, snapshot: Snapshot, file: FileText): Shown | Refusal {
  const { earlier, world } = reading;
  const { fingerprint } = snapshot;
  const showable = { file, path: reading.located.place.path.relative, fingerprint };
  const same = earlier?.fingerprint !== undefined && sameFingerprint(earlier.fingerprint, fingerprint);
  const known = same ? earlier.totalLines : undefined;
  if (asksForAll(reading, snapshot))
    return showAll(reading, snapshot, { visible: visibleText(world, showable), known });
  const totalLines = known ?? countFileLines(snapshot.bytes);
  const asked = rangeOf(reading, totalLines);
  if ('code' in asked) return asked;
  const plain = pageOf(reading, file, { asked, totalLines });
  const visible = visibleText(world, { page: plain.lines, ...showable });
  const { text } = visible;
  const { range, all, lines } = text === file ? plain : pageOf(reading, text, { asked, totalLines });
  const empty = totalLines === 0;
  return {
    result: linesResult(reading, lines, {
      from: empty ? 0 : range.from,
      to: empty ? 0 : range.to,
      totalLines,
      sizeBytes: snapshot.fingerprint.size,
      encoding: text.encoding,
    }),
    sighting: sightingOf(reading, snapshot, {
      coverage: all ? WHOLE : linesCoverage([range], totalLines),
      totalLines,
      flags: flagsOf({ clamped: lines.clamped, redacted: visible.isMasked(range) }),
    }),
  };
}

/** The requested lines of a text that fit into the answer. */
function pageOf(
  reading: OpenRead,
  text: FileText,
  { asked, totalLines }: { readonly asked: LineRange; readonly totalLines: number },
): { readonly range: LineRange; readonly all: boolean; readonly lines: PageText } {
  const range = reading.options.raw === true ? asked : fittingLines(text, asked, reading.maxAnswerBytes);
  const all = range.from === 1 && range.to === totalLines;
  return { range, all, lines: shownPage(text, showing(reading, all ? 'all' : range)) };
}

type LinesFacts = Pick<ReadResult, 'from' | 'to' | 'totalLines' | 'sizeBytes' | 'encoding'>;

/** The result of a read. A small text is stored directly, because a lazy getter costs more. */
function linesResult({ from: source }: OpenRead, lines: PageText, facts: LinesFacts): Shown['result'] {
  const { clamped, bytes } = lines;
  if (source === 'memory' && bytes !== undefined) return new LinesResult(bytes, lines, facts);
  const { from, to, totalLines, sizeBytes, encoding } = facts;
  if (bytes !== undefined && bytes.byteLength <= EAGER_BYTES)
    return { text: lines.text, bytes, from, to, totalLines, sizeBytes, encoding, clamped };
  return {
    get text() {
      return lines.text;
    },
    ...(bytes === undefined ? {} : { bytes }),
    ...facts,
    clamped,
  };
}

/**
 * The result of a read for a tool, which sends `bytes` and rarely needs `text`. So `text` is a
 * getter, which decodes the text on first use. Copies made by spreading lack `text`.
 */
class LinesResult {
  readonly #lines: PageText;
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
  readonly totalLines: number | undefined;
  readonly sizeBytes: number;
  readonly encoding: string;
  readonly clamped: readonly number[];

  constructor(bytes: Uint8Array, lines: PageText, facts: LinesFacts) {
    const { from, to, totalLines, sizeBytes, encoding } = facts;
    this.#lines = lines;
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    this.totalLines = totalLines;
    this.sizeBytes = sizeBytes;
    this.encoding = encoding;
    this.clamped = lines.clamped;
  }

  get text(): string {
    return this.#lines.text;
  }
}

function flagsOf({
  clamped,
  redacted,
}: Pick<PageText, 'clamped'> & { readonly redacted: boolean }): SightingFlags {
  return clamped.length > 0 || redacted ? { ...NO_FLAGS, clamped: clamped.length > 0, redacted } : NO_FLAGS;
}

function showing({ options }: OpenRead, range: LineRange | 'all'): PageOptions {
  return { range, raw: options.raw === true, maxLineChars: LIMITS.maxLineChars };
}

/**
 * True if the request certainly covers the whole file, because it allows at least as many lines as
 * the file has bytes. The lines then need not be counted. False for small files, because decoding
 * them later saves nothing.
 */
function asksForAll({ options, maxAnswerBytes }: OpenRead, snapshot: Snapshot): boolean {
  const { offset = 1, limit = LIMITS.maxReadLines, last } = options;
  const { byteLength } = snapshot.bytes;
  return (
    (options.raw === true || byteLength <= maxAnswerBytes) &&
    last === undefined &&
    offset === 1 &&
    Number.isInteger(limit) &&
    byteLength > EAGER_BYTES &&
    limit >= byteLength
  );
}

/** Shows the whole file. Lines are counted and decoded only when the caller needs them. */
function showAll(
  reading: OpenRead,
  snapshot: Snapshot,
  { visible, known }: { visible: VisibleText; known: number | undefined },
): Shown {
  const { text } = visible;
  const lines = shownPage(text, showing(reading, 'all'));
  // With `memory`, the caller is a tool, which shows the number of lines. So count them now, and
  // store the number in the sighting: the next read of the same bytes reuses it.
  const noted = reading.from === 'memory' ? (known ?? countFileLines(snapshot.bytes)) : known;
  const totalLines = lazily(() => noted ?? countFileLines(snapshot.bytes));
  return {
    result: {
      get text() {
        return lines.text;
      },
      ...(lines.bytes === undefined ? {} : { bytes: lines.bytes }),
      from: snapshot.bytes.byteLength === 0 ? 0 : 1,
      get to() {
        return totalLines();
      },
      get totalLines() {
        return totalLines();
      },
      sizeBytes: snapshot.fingerprint.size,
      encoding: text.encoding,
      clamped: lines.clamped,
    },
    sighting: sightingOf(reading, snapshot, {
      coverage: WHOLE,
      totalLines: noted,
      flags: flagsOf({ clamped: lines.clamped, redacted: visible.isMasked('all') }),
    }),
  };
}

function describe(reading: OpenRead, snapshot: Snapshot, media: string | undefined): Shown {
  const mimeType = media ?? 'application/octet-stream';
  const small = media !== undefined && snapshot.bytes.byteLength <= MAX_MEDIA_BYTES;
  const raw = reading.options.raw === true;
  const show = maskFor(reading.world, reading.located.place.path.relative);
  const text = lazily(() => (raw ? show(snapshot.bytes.toString('utf8')) : ''));
  return {
    result: {
      get text() {
        return text();
      },
      from: 0,
      to: 0,
      totalLines: undefined,
      sizeBytes: snapshot.fingerprint.size,
      encoding: 'binary',
      clamped: [],
      ...(raw ? { bytes: snapshot.bytes } : {}),
      media: { mimeType, ...(small ? { base64: snapshot.bytes.toString('base64') } : {}) },
    },
    sighting: sightingOf(reading, snapshot, {
      coverage: WHOLE,
      totalLines: undefined,
      flags: { ...NO_FLAGS, notText: true },
    }),
  };
}

function sightingOf(
  reading: OpenRead,
  { fingerprint, stamp, racy }: Snapshot,
  { coverage, totalLines, flags }: Pick<Sighting, 'coverage' | 'totalLines' | 'flags'>,
): Sighting {
  return {
    key: reading.located.place.path.key,
    fingerprint,
    stamp,
    racy,
    coverage,
    totalLines,
    flags,
    how: 'read',
    atMs: reading.world.now(),
  };
}
