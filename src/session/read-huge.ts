import { isUtf8 } from 'node:buffer';
import { fingerprintIfStill, type Page, readPage } from '../disk/page.ts';
import type { Unreadable } from '../disk/read.ts';
import { maskedBytes, maskFor } from '../gate/masking.ts';
import { type Coverage, type LineRange, linesCoverage, NOTHING, unionCoverage } from '../model/coverage.ts';
import { type Fingerprint, sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import { LIMITS } from '../model/limits.ts';
import { defined } from '../model/record.ts';
import type { ReadResult } from '../model/results.ts';
import { NO_FLAGS } from '../model/sighting.ts';
import { invalidArgument, type Refusal } from '../model/verdict.ts';
import { decodeText, decodeUtf16, hasNul, hasUtf16Mark } from '../text/decode.ts';
import { clampLine, splitLines, withoutEnding } from '../text/lines.ts';
import { mayHoldEncodedLine, mayHoldSecret } from '../text/secret-scan.ts';
import { isSecretPath } from '../text/secrets.ts';
import {
  type OpenRead,
  type PageEnd,
  type PageText,
  pastTheEnd,
  rangeOf,
  type Shown,
  unreadableRefusal,
} from './reading.ts';

const MAX_PAGE_ENDS = 100;

/**
 * Bytes that are read of a long line after the part that is shown. A secret at the end of that part
 * can then be recognised and masked.
 */
const MARGIN_BYTES = 1024;

const MAX = Number.MAX_SAFE_INTEGER;

/**
 * Shows a page of a file too large to load. The page is recorded with its own hash; the whole file
 * is hashed only once all its pages were shown.
 */
export async function readHuge(reading: OpenRead): Promise<Shown | Refusal> {
  const total = reading.request.options.last === undefined ? undefined : await lineTotal(reading);
  if (typeof total === 'object') return total;
  const range = rangeOf(reading.request, total);
  if ('code' in range) return range;
  const page = await pageFrom(reading, range);
  if ('problem' in page) return unreadableRefusal(reading.request.path, page);
  // If the time ran out, refuse a raw read even if lines were found: a raw answer has no line
  // numbers, so it would not show that lines are missing.
  if (page.gaveUp && (page.lines.length === 0 || reading.request.options.raw === true))
    return outOfTime(reading);
  if (page.lines.length === 0)
    return invalidArgument('read', reading.request.path, pastTheEnd(range.from, page.totalLines ?? 0));
  rememberEnd(reading, page);
  return shownPage(reading, page);
}

/**
 * Reads a page, if possible from the end of the page that was shown last. If the file turns out to
 * have changed since then, reads again from the top.
 */
async function pageFrom(reading: OpenRead, { from, to }: LineRange): Promise<Page | Unreadable> {
  const { world, located } = reading;
  const { options, maxAnswerBytes } = reading.request;
  const wanted = {
    clock: world.disk.clock,
    from,
    limit: to - from + 1,
    maxLineBytes: options.raw === true ? MAX : LIMITS.maxLineChars * 4 + MARGIN_BYTES,
    ...(options.raw === true ? {} : { maxBytes: maxAnswerBytes }),
    deadline: newDeadline(),
    ...watched(reading),
  };
  const end = lastEnd(reading, from);
  if (end === undefined) return readPage(located.place, wanted);
  const page = await readPage(located.place, { ...wanted, start: end.next });
  return 'problem' in page || sameStamp(page.stamp, end.stamp) ? page : readPage(located.place, wanted);
}

/** Counts the lines of a huge file by reading all of it. */
async function lineTotal(reading: OpenRead): Promise<number | Refusal> {
  const page = await readPage(reading.located.place, {
    clock: reading.world.disk.clock,
    from: MAX,
    limit: 1,
    maxLineBytes: 0,
    deadline: newDeadline(),
    ...watched(reading),
  });
  if ('problem' in page) return unreadableRefusal(reading.request.path, page);
  return page.totalLines ?? outOfTime(reading);
}

function newDeadline(): number {
  return performance.now() + LIMITS.maxReadMs;
}

function outOfTime({ request: { path } }: OpenRead): Refusal {
  const reason = `the requested lines could not be read within ${LIMITS.maxReadMs} ms`;
  return { code: 'UNVERIFIABLE', action: 'read', path, next: 'ask_human', detail: { reason } };
}

function watched({
  request: { watching },
}: OpenRead): Pick<Parameters<typeof readPage>[1], 'signal' | 'onProgress'> {
  const { signal, onProgress } = watching;
  return defined({ signal, onProgress });
}

/** The end of the page shown last, if it lies before line `from` and the file is unchanged since. */
function lastEnd({ request: { pageEnds }, located }: OpenRead, from: number): PageEnd | undefined {
  const end = pageEnds.get(located.place.path.key);
  if (end === undefined || end.next.line > from) return undefined;
  return sameStamp(end.stamp, located.stats) ? end : undefined;
}

function rememberEnd({ request: { pageEnds }, located }: OpenRead, page: Page): void {
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
  const { world, located, earlier, request } = reading;
  const to = page.from + page.lines.length - 1;
  const bytes = Buffer.concat(page.lines);
  const lines =
    request.options.raw === true ? rawLines(reading, page, bytes) : clampedLines(reading, page, bytes);
  const known = await confirmed(reading, page);
  const same = known !== undefined || (earlier?.stamp !== undefined && sameStamp(earlier.stamp, page.stamp));
  const totalLines = page.totalLines ?? (same ? earlier?.totalLines : undefined);
  const end = totalLines ?? Number.POSITIVE_INFINITY;
  const shown: Coverage = linesCoverage([{ from: page.from, to }], end);
  const together = unionCoverage((same ? earlier?.coverage : undefined) ?? NOTHING, shown, end);
  const isWhole = together.kind === 'whole';
  const fingerprint =
    known ??
    (isWhole
      ? await fingerprintIfStill(located.place, page.stamp, reading.request.watching.signal)
      : undefined);
  return {
    page: lines.page,
    facts: { from: page.from, to, totalLines, sizeBytes: page.sizeBytes, encoding: lines.encoding },
    sighting: {
      key: located.place.path.key,
      fingerprint,
      stamp: page.stamp,
      racy: page.racy,
      coverage: shown,
      totalLines,
      flags: {
        ...NO_FLAGS,
        clamped: lines.page.clamped.length > 0,
        redacted: lines.redacted,
        // Pages are compared with the file by lines of bytes, which UTF-16 text does not have. So
        // they do not count as seen.
        notText: page.utf16 !== undefined || hasNul(bytes),
      },
      how: 'read',
      atMs: world.now(),
      pages: [{ from: page.from, to, sha256: page.sha256 }],
    },
  };
}

/** The text of a page, and whether something in it is masked. */
interface PageLines {
  readonly page: PageText;
  readonly encoding: string;
  readonly redacted: boolean;
}

/** The function that masks secrets in a page. Undefined if these bytes need no masking. */
function maskOf({ world, located }: OpenRead, bytes: Buffer): ((text: string) => string) | undefined {
  const { relative } = located.place.path;
  if (world.policy.secrets === 'show') return undefined;
  const mayHold =
    world.secretValues.mayBeIn(bytes) ||
    isSecretPath(relative) ||
    mayHoldSecret(bytes) ||
    mayHoldEncodedLine(bytes);
  return mayHold ? maskFor(world, relative) : undefined;
}

/**
 * The text of a page with secrets masked and every line cut to `maxLineChars`. Masks before cutting,
 * because a cut can remove the text by which a secret is recognised.
 */
function clampedLines(reading: OpenRead, page: Page, bytes: Buffer): PageLines {
  const missing = new Map(page.cut.map(({ line, missingChars }) => [line, missingChars]));
  const clamped: number[] = [];
  const { text: whole, encoding } = decodedPage(page, bytes);
  const shown = maskOf(reading, page.utf16 === undefined ? bytes : Buffer.from(whole))?.(whole) ?? whole;
  const lines = shown.split('\n').map((line, index) => {
    const number = page.from + index;
    const bounded = clampLine(line, LIMITS.maxLineChars, missing.get(number));
    if (bounded.clamped) clamped.push(number);
    return bounded.text;
  });
  const text = (): string => lines.join('\n');
  return { page: { text, bytes: undefined, clamped }, encoding, redacted: shown !== whole };
}

/** The lines of a page without their endings. Bytes that are not text become replacement characters. */
function decodedPage(page: Page, bytes: Buffer): Pick<ReadResult, 'text' | 'encoding'> {
  const { lines, utf16 } = page;
  if (utf16 === undefined) {
    const text = (): string => lines.map((line) => withoutEnding(line.toString('utf8'))).join('\n');
    return decodedLegacy(page, bytes) ?? { text: text(), encoding: 'utf-8' };
  }
  const text = lines.map((line) => withoutEnding(decodeUtf16(line, utf16))).join('\n');
  return { text: withoutMark(text), encoding: utf16 };
}

/**
 * Like `decodedPage`, for a page in an older encoding such as windows-1252. Undefined for other
 * pages, and for a page with a cut line, because the cut may have split a UTF-8 character.
 */
function decodedLegacy({ cut }: Page, bytes: Buffer): Pick<ReadResult, 'text' | 'encoding'> | undefined {
  if (cut.length > 0 || isUtf8(bytes) || hasNul(bytes) || hasUtf16Mark(bytes)) return undefined;
  const decoded = decodeText(bytes);
  if (decoded === undefined) return undefined;
  const text = splitLines(decoded.text).map(withoutEnding).join('\n');
  return { text, encoding: decoded.encoding };
}

function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/**
 * The fingerprint that the session has seen, if the file still has these bytes under a new stamp,
 * for example after a `touch`. Without this check, the new stamp would discard all earlier pages.
 * Files too large to be edited are not checked.
 */
async function confirmed(
  { earlier, located, request }: OpenRead,
  page: Page,
): Promise<Fingerprint | undefined> {
  const { fingerprint, stamp, racy } = earlier ?? {};
  if (fingerprint === undefined || fingerprint.size !== page.sizeBytes) return undefined;
  if (racy === false && stamp !== undefined && sameStamp(stamp, page.stamp)) return undefined;
  if (page.sizeBytes > LIMITS.maxEditBytes) return undefined;
  const now = await fingerprintIfStill(located.place, page.stamp, request.watching.signal);
  return now !== undefined && sameFingerprint(now, fingerprint) ? now : undefined;
}

function rawLines(reading: OpenRead, { utf16 }: Page, bytes: Buffer): PageLines {
  const plain = utf16 === undefined ? bytes.toString('utf8') : withoutMark(decodeUtf16(bytes, utf16));
  const text = maskOf(reading, utf16 === undefined ? bytes : Buffer.from(plain))?.(plain) ?? plain;
  const isPlain = text === plain && utf16 === undefined && isUtf8(bytes);
  const { world, located } = reading;
  const sent = isPlain
    ? { bytes, encoding: 'utf-8' }
    : maskedBytes(world, located.place.path.relative, bytes, utf16);
  return {
    page: { text: () => text, bytes: sent.bytes, clamped: [] },
    encoding: sent.encoding,
    redacted: text !== plain || sent.bytes !== bytes,
  };
}
