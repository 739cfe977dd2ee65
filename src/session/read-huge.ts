import { fingerprintIfStill, type LineStart, type Page, type PageRequest, readPage } from '../disk/page.ts';
import { maskFor } from '../gate/masking.ts';
import { type Coverage, linesCoverage, NOTHING, unionCoverage } from '../model/coverage.ts';
import { type Fingerprint, sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import { defined } from '../model/record.ts';
import type { ReadResult } from '../model/results.ts';
import { NO_FLAGS } from '../model/sighting.ts';
import { invalidArgument, type Refusal } from '../model/verdict.ts';
import { hasNul } from '../text/decode.ts';
import { clampLine, withoutEnding } from '../text/lines.ts';
import { isSecretPath, mayHoldSecret } from '../text/secrets.ts';
import { lazily } from './masked-text.ts';
import { type OpenRead, rangeOf, type Shown, unreadableRefusal } from './reading.ts';

const MAX_PAGE_ENDS = 100;

const MAX = Number.MAX_SAFE_INTEGER;

/**
 * Shows a page of a file too large to load. A page has its own stamp and hash, but no fingerprint of the whole file.
 * The whole file is hashed only once all its pages were shown.
 */
export async function readHuge(reading: OpenRead): Promise<Shown | Refusal> {
  const range = rangeOf(reading, reading.options.last === undefined ? undefined : await lineTotal(reading));
  if ('code' in range) return range;
  const { world, options, located } = reading;
  const page = await readPage(located.place, {
    clock: world.disk.clock,
    from: range.from,
    limit: range.to - range.from + 1,
    maxLineBytes: options.raw === true ? MAX : world.policy.maxLineChars * 4,
    ...(options.raw === true ? {} : { maxBytes: reading.maxAnswerBytes }),
    deadline: deadlineOf(reading),
    ...startFor(reading, range.from),
    ...watched(reading),
  });
  if ('problem' in page) return unreadableRefusal(reading.path, page);
  if (page.lines.length === 0 && page.gaveUp) return outOfTime(reading);
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

/** Counts the lines of a huge file by reading all of it. Undefined if it cannot be read. */
async function lineTotal(reading: OpenRead): Promise<number | undefined> {
  const page = await readPage(reading.located.place, {
    clock: reading.world.disk.clock,
    from: MAX,
    limit: 1,
    maxLineBytes: 0,
    deadline: deadlineOf(reading),
    ...watched(reading),
  });
  return 'problem' in page ? undefined : page.totalLines;
}

function deadlineOf({ world }: OpenRead): number {
  return performance.now() + world.policy.maxReadMs;
}

function outOfTime({ path, world }: OpenRead): Refusal {
  const detail = {
    reason: `none of the lines asked for ended within ${world.policy.maxReadMs} ms (maxReadMs)`,
  };
  return { code: 'UNVERIFIABLE', action: 'read', path, next: 'ask_human', detail };
}

function watched({ watching }: OpenRead): Pick<PageRequest, 'signal' | 'onProgress'> {
  const { signal, onProgress } = watching;
  return { ...defined({ signal, onProgress }) };
}

function startFor(reading: OpenRead, from: number): { readonly start?: LineStart } {
  const end = reading.pageEnds.get(reading.located.place.path.key);
  if (end === undefined || reading.earlier?.stamp === undefined) return {};
  return sameStamp(end.stamp, reading.earlier.stamp) && end.next.line <= from ? { start: end.next } : {};
}

function rememberEnd({ pageEnds, located }: OpenRead, page: Page): void {
  const { key } = located.place.path;
  pageEnds.delete(key);
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
  const known = await confirmed(reading, page);
  const same = known !== undefined || (earlier?.stamp !== undefined && sameStamp(earlier.stamp, page.stamp));
  const totalLines = page.totalLines ?? (same ? earlier?.totalLines : undefined);
  const shown: Coverage = linesCoverage([{ from: page.from, to }], totalLines ?? Number.POSITIVE_INFINITY);
  const together = unionCoverage(
    (same ? earlier?.coverage : undefined) ?? NOTHING,
    shown,
    totalLines ?? Number.POSITIVE_INFINITY,
  );
  const isWhole = together.kind === 'whole';
  const fingerprint =
    known ??
    (isWhole ? await fingerprintIfStill(located.place, page.stamp, reading.watching.signal) : undefined);
  return {
    result: {
      get text() {
        return lines.text;
      },
      ...(raw ? { bytes: lines.redacted ? Buffer.from(lines.text, 'utf8') : bytes } : {}),
      from: page.from,
      to,
      totalLines,
      sizeBytes: page.sizeBytes,
      encoding: 'utf-8',
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
        redacted: lines.redacted,
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

/** Clamps line by line, because a cut line has lost its ending. */
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
 * The session's known fingerprint, if the file still has these bytes although its stamp changed, by the session's own
 * change or a touch. Otherwise one more page would discard all earlier ones. Skipped for files too large to be changed.
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
