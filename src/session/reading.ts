import { isUtf8 } from 'node:buffer';
import { fingerprintIfStill, type LineStart, type Page, type PageRequest, readPage } from '../disk/page.ts';
import type { Unreadable } from '../disk/read.ts';
import { maskedBytes, maskFor } from '../gate/masking.ts';
import type { World } from '../gate/world.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Awaitable } from '../model/awaitable.ts';
import { type Coverage, type LineRange, linesCoverage, NOTHING, unionCoverage } from '../model/coverage.ts';
import type { NewEntry } from '../model/entry.ts';
import { type Fingerprint, type Stamp, sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import type { CallTimes } from '../model/foreign-session.ts';
import type { FileKind } from '../model/path.ts';
import { defined } from '../model/record.ts';
import type { ReadResult } from '../model/results.ts';
import type { ReadOptions } from '../model/session.ts';
import { NO_FLAGS, type Sighting, shownAs } from '../model/sighting.ts';
import { invalidArgument, type Outcome, type Refusal, type RefusalDetail } from '../model/verdict.ts';
import { hasNul } from '../text/decode.ts';
import { clampLine, withoutEnding } from '../text/lines.ts';
import { mayHoldSecret } from '../text/secret-scan.ts';
import { isSecretPath } from '../text/secrets.ts';
import type { Found } from '../workspace/workspace.ts';
import { lazily } from './masked-text.ts';

/**
 * For each huge file, the position after the last page that was shown. The next page then need not
 * count lines from the top.
 */
export type PageEnds = Map<string, PageEnd>;

interface PageEnd {
  readonly stamp: Stamp;
  readonly next: LineStart;
}

/** One read in progress: the request, the located file, and what the session saw of it before. */
export interface OpenRead {
  readonly world: World;
  readonly ledger: Ledger;
  readonly path: string;
  readonly options: Omit<ReadOptions, keyof ReadControls>;
  readonly watching: ReadControls;
  /**
   * `disk`: the file is always read. `memory`: it is not read again while its size and times prove
   * that it is unchanged.
   */
  readonly from: 'disk' | 'memory';
  readonly located: Found;
  readonly earlier: Sighting | undefined;
  readonly pageEnds: PageEnds;
  /** Maximum number of bytes of lines in the answer. */
  readonly maxAnswerBytes: number;
}

/** Progress and cancellation of a long read. Set only by callers that need them. */
export type ReadControls = Pick<ReadOptions, 'signal' | 'onProgress'> & {
  /**
   * Times at which the call arrived and was answered. Lines in the answer count as seen only for
   * later calls. Absent if the client waits for each answer before its next call.
   */
  readonly times?: CallTimes | undefined;
};

/** The result of a read before it is recorded. `text` and values derived from it are computed on first use. */
export interface Shown {
  readonly result: Omit<ReadResult, 'path' | 'complete' | 'revision'>;
  readonly sighting: Sighting;
}

/** The requested lines, or a refusal. `totalLines` is undefined for a huge file with uncounted lines. */
export function rangeOf(reading: OpenRead, totalLines: number | undefined): LineRange | Refusal {
  const { last } = reading.options;
  if (last !== undefined && (reading.options.offset !== undefined || reading.options.limit !== undefined))
    return invalidArgument('read', reading.path, 'the last lines cannot be combined with offset and limit');
  if (last !== undefined && totalLines !== undefined) return lastLines(reading, last, totalLines);
  const { offset = 1, limit = reading.world.policy.maxReadLines } = reading.options;
  if (!Number.isInteger(offset) || offset < 1)
    return invalidArgument('read', reading.path, `offset must be a line number from 1 on, not ${offset}`);
  if (!Number.isInteger(limit) || limit < 1)
    return invalidArgument('read', reading.path, `limit must be a number of lines from 1 on, not ${limit}`);
  if (totalLines === undefined) return { from: offset, to: offset + limit - 1 };
  if (offset > Math.max(totalLines, 1)) {
    return invalidArgument(
      'read',
      reading.path,
      `offset ${offset} is past the end: the file has ${totalLines} ${totalLines === 1 ? 'line' : 'lines'}`,
    );
  }
  return { from: offset, to: Math.min(offset + limit - 1, totalLines) };
}

function lastLines(reading: OpenRead, last: number, totalLines: number): LineRange | Refusal {
  if (!Number.isInteger(last) || last < 1)
    return invalidArgument('read', reading.path, `the number of last lines must be 1 or more, not ${last}`);
  return { from: Math.max(1, totalLines - last + 1), to: totalLines };
}

/**
 * Completes the result of a read: adds whether the session has now seen the whole file and, if so,
 * the file's revision.
 */
export function readResult(
  { path, world }: OpenRead,
  { result }: Shown,
  { coverage, fingerprint, flags }: Sighting,
): { ok: true } & ReadResult {
  const isAll = !flags.clamped && !flags.notText && !flags.redacted;
  const complete = coverage.kind === 'whole' && fingerprint !== undefined && isAll;
  // Extend the same object: copying it would compute its lazy text, which not every caller needs.
  return complete
    ? Object.assign(result, { ok: true as const, path, complete, revision: world.revisionOf(fingerprint) })
    : Object.assign(result, { ok: true as const, path, complete });
}

/**
 * Adds a notice if other sessions work on the file. Otherwise, which is usual, returns the result
 * synchronously.
 */
export function withClaims(
  { world, ledger, located }: OpenRead,
  { sighting }: Shown,
  result: { ok: true } & ReadResult,
): Awaitable<Outcome<ReadResult>> {
  const file = located.place.path;
  const claims = world.claims.untold(ledger, file);
  if (claims.length === 0) return result;
  return world.claims
    .claimNotice(ledger, { file, claims, live: sighting.fingerprint })
    .then(async (claimNotice) => {
      if (claimNotice === undefined) return result;
      claimNotice.confirm();
      await world.store.note({ sightings: [], entries: [claimNotice.entry] });
      // Extend the same object: copying it would compute its lazy text, which not every caller needs.
      return Object.assign(result, { notices: [...(result.notices ?? []), claimNotice.notice] });
    });
}

/** The journal entry of a read. Its keys are in sorted order, so that the journal need not sort them. */
export function entryOf({ ledger, located }: OpenRead, { sighting, result }: Shown): NewEntry {
  const { path } = located.place;
  const entry: { -readonly [K in keyof NewEntry]: NewEntry[K] } = {
    action: 'read',
    atMs: sighting.atMs,
    kind: 'read',
    lines: sighting.coverage.kind === 'whole' ? 'whole' : `${result.from}-${result.to}`,
    path: path.relative,
    root: path.root,
    session: ledger.session,
  };
  // Set optional fields here: spreading them into the entry would take as long as all the rest.
  if (sighting.fingerprint !== undefined) entry.sha256 = sighting.fingerprint.sha256;
  if (sighting.flags !== NO_FLAGS) Object.assign(entry, defined({ shown: shownAs(sighting.flags) }));
  if (sighting.totalLines !== undefined) entry.totalLines = sighting.totalLines;
  if (ledger.turn !== undefined) entry.turn = ledger.turn;
  return entry;
}

/** The refusal for an existing file that could not be read. */
export function unreadableRefusal(path: string, problem: Unreadable): Refusal {
  const base = { action: 'read', path } as const;
  switch (problem.problem) {
    case 'missing':
      return { ...base, code: 'NOT_FOUND', next: 'other_path' };
    case 'kind':
      return notAFile(path, problem.kind);
    case 'swapped':
      return {
        ...base,
        code: 'UNVERIFIABLE',
        next: 'retry_later',
        detail: { reason: 'it was replaced by a link meanwhile' },
      };
    case 'too-large':
      return tooLarge(path, { sizeBytes: problem.size });
    case 'denied':
      return { ...base, code: 'UNVERIFIABLE', next: 'ask_human', detail: { errno: problem.errno } };
    default:
      return problem satisfies never;
  }
}

export function notAFile(path: string, kind: FileKind): Refusal {
  const next = kind === 'directory' ? 'list' : 'other_path';
  return { code: 'NOT_A_FILE', action: 'read', path, next, detail: { kind } };
}

export function tooLarge(path: string, detail: Pick<RefusalDetail, 'sizeBytes' | 'limitBytes'>): Refusal {
  return { code: 'TOO_LARGE', action: 'read', path, next: 'read_range', detail };
}

const MAX_PAGE_ENDS = 100;

const MAX = Number.MAX_SAFE_INTEGER;

/**
 * Shows a page of a file too large to load. The page is recorded with its own hash; the whole file
 * is hashed only once all its pages were shown.
 */
export async function readHuge(reading: OpenRead): Promise<Shown | Refusal> {
  const total = reading.options.last === undefined ? undefined : await lineTotal(reading);
  if (typeof total === 'object') return total;
  const range = rangeOf(reading, total);
  if ('code' in range) return range;
  const page = await pageFrom(reading, range);
  if ('problem' in page) return unreadableRefusal(reading.path, page);
  // If the time ran out, refuse a raw read even if lines were found: a raw answer has no line
  // numbers, so it would not show that lines are missing.
  if (page.gaveUp && (page.lines.length === 0 || reading.options.raw === true)) return outOfTime(reading);
  if (page.lines.length === 0) {
    return invalidArgument(
      'read',
      reading.path,
      `offset ${range.from} is past the end: the file has ${page.totalLines ?? 0} lines`,
    );
  }
  rememberEnd(reading, page);
  return shownPage(reading, page);
}

/**
 * Reads a page, if possible from the end of the page that was shown last. If the file turns out to
 * have changed since then, reads again from the top.
 */
async function pageFrom(reading: OpenRead, { from, to }: LineRange): Promise<Page | Unreadable> {
  const { world, options, located } = reading;
  const request = {
    clock: world.disk.clock,
    from,
    limit: to - from + 1,
    maxLineBytes: options.raw === true ? MAX : world.policy.maxLineChars * 4,
    ...(options.raw === true ? {} : { maxBytes: reading.maxAnswerBytes }),
    deadline: deadlineOf(reading),
    ...watched(reading),
  };
  const end = lastEnd(reading, from);
  if (end === undefined) return readPage(located.place, request);
  const page = await readPage(located.place, { ...request, start: end.next });
  return 'problem' in page || sameStamp(page.stamp, end.stamp) ? page : readPage(located.place, request);
}

/** Counts the lines of a huge file by reading all of it. */
async function lineTotal(reading: OpenRead): Promise<number | Refusal> {
  const page = await readPage(reading.located.place, {
    clock: reading.world.disk.clock,
    from: MAX,
    limit: 1,
    maxLineBytes: 0,
    deadline: deadlineOf(reading),
    ...watched(reading),
  });
  if ('problem' in page) return unreadableRefusal(reading.path, page);
  return page.totalLines ?? outOfTime(reading);
}

function deadlineOf({ world }: OpenRead): number {
  return performance.now() + world.policy.maxReadMs;
}

function outOfTime({ path, world }: OpenRead): Refusal {
  const reason = `the requested lines could not be read within ${world.policy.maxReadMs} ms (maxReadMs)`;
  return { code: 'UNVERIFIABLE', action: 'read', path, next: 'ask_human', detail: { reason } };
}

function watched({ watching }: OpenRead): Pick<PageRequest, 'signal' | 'onProgress'> {
  const { signal, onProgress } = watching;
  return { ...defined({ signal, onProgress }) };
}

/** The end of the page shown last, if it lies before line `from` and the file is unchanged since. */
function lastEnd({ pageEnds, located }: OpenRead, from: number): PageEnd | undefined {
  const end = pageEnds.get(located.place.path.key);
  if (end === undefined || end.next.line > from) return undefined;
  return sameStamp(end.stamp, located.stats) ? end : undefined;
}

function rememberEnd({ pageEnds, located }: OpenRead, page: Page): void {
  const { key } = located.place.path;
  pageEnds.delete(key);
  // A racy stamp may stay equal when the file changes, so an equal stamp would prove nothing.
  if (page.racy) return;
  pageEnds.set(key, { stamp: page.stamp, next: page.next });
  for (const oldest of pageEnds.keys()) {
    if (pageEnds.size <= MAX_PAGE_ENDS) break;
    pageEnds.delete(oldest);
  }
}

async function shownPage(reading: OpenRead, page: Page): Promise<Shown> {
  const { world, located, earlier, options } = reading;
  const to = page.from + page.lines.length - 1;
  const bytes = Buffer.concat(page.lines);
  const raw = options.raw === true;
  const plain = raw ? rawLines(bytes) : clampedLines(page, world.policy.maxLineChars);
  const lines = maskedPage(reading, bytes, plain);
  const sent =
    raw && (lines.redacted || !isUtf8(bytes))
      ? maskedBytes(world.policy, located.place.path.relative, bytes)
      : { bytes, encoding: 'utf-8' };
  const known = await confirmed(reading, page);
  const same = known !== undefined || (earlier?.stamp !== undefined && sameStamp(earlier.stamp, page.stamp));
  const totalLines = page.totalLines ?? (same ? earlier?.totalLines : undefined);
  const end = totalLines ?? Number.POSITIVE_INFINITY;
  const shown: Coverage = linesCoverage([{ from: page.from, to }], end);
  const together = unionCoverage((same ? earlier?.coverage : undefined) ?? NOTHING, shown, end);
  const isWhole = together.kind === 'whole';
  const fingerprint =
    known ??
    (isWhole ? await fingerprintIfStill(located.place, page.stamp, reading.watching.signal) : undefined);
  return {
    result: {
      get text() {
        return lines.text;
      },
      ...(raw ? { bytes: sent.bytes } : {}),
      from: page.from,
      to,
      totalLines,
      sizeBytes: page.sizeBytes,
      encoding: sent.encoding,
      clamped: lines.clamped,
    },
    sighting: {
      key: located.place.path.key,
      fingerprint,
      stamp: page.stamp,
      racy: page.racy,
      coverage: shown,
      totalLines,
      flags: {
        ...NO_FLAGS,
        clamped: lines.clamped.length > 0,
        redacted: lines.redacted || sent.bytes !== bytes,
        notText: hasNul(bytes),
      },
      how: 'read',
      atMs: world.now(),
      pages: [{ from: page.from, to, sha256: page.sha256 }],
    },
  };
}

/** The lines of a page with secrets masked, according to the policy. */
function maskedPage(
  { world, located }: OpenRead,
  bytes: Buffer,
  lines: Pick<ReadResult, 'text' | 'clamped'>,
): Pick<ReadResult, 'text' | 'clamped'> & { readonly redacted: boolean } {
  const { relative } = located.place.path;
  const { clamped } = lines;
  if (world.policy.secrets === 'show' || (!isSecretPath(relative) && !mayHoldSecret(bytes)))
    return {
      get text() {
        return lines.text;
      },
      clamped,
      redacted: false,
    };
  const text = maskFor(world.policy, relative)(lines.text);
  return { text, clamped, redacted: text !== lines.text };
}

/** The text of a page with every line cut to `maxLineChars`, and the numbers of the cut lines. */
function clampedLines(page: Page, maxLineChars: number): Pick<ReadResult, 'text' | 'clamped'> {
  const missing = new Map(page.cut.map(({ line, missingChars }) => [line, missingChars]));
  const clamped: number[] = [];
  const texts = page.lines.map((line, index) => {
    const number = page.from + index;
    const shown = clampLine(withoutEnding(line.toString('utf8')), maxLineChars, missing.get(number));
    if (shown.clamped) clamped.push(number);
    return shown.text;
  });
  return { text: texts.join('\n'), clamped };
}

/**
 * The fingerprint that the session has seen, if the file still has these bytes under a new stamp,
 * for example after a `touch`. Without this check, the new stamp would discard all earlier pages.
 * Files too large to be edited are not checked.
 */
async function confirmed(
  { world, earlier, located, watching }: OpenRead,
  page: Page,
): Promise<Fingerprint | undefined> {
  const { fingerprint, stamp, racy } = earlier ?? {};
  if (fingerprint === undefined || fingerprint.size !== page.sizeBytes) return undefined;
  if (racy === false && stamp !== undefined && sameStamp(stamp, page.stamp)) return undefined;
  if (page.sizeBytes > world.policy.maxEditBytes) return undefined;
  const now = await fingerprintIfStill(located.place, page.stamp, watching.signal);
  return now !== undefined && sameFingerprint(now, fingerprint) ? now : undefined;
}

function rawLines(bytes: Buffer): Pick<ReadResult, 'text' | 'clamped'> {
  const text = lazily(() => bytes.toString('utf8'));
  return {
    get text() {
      return text();
    },
    clamped: [],
  };
}
