import { isStub } from '../judge/facts.ts';
import {
  type Coverage,
  covers,
  type LineRange,
  NOTHING,
  rangesOf,
  unionCoverage,
} from '../model/coverage.ts';
import { Fault } from '../model/fault.ts';
import { type Fingerprint, sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import { isRecord } from '../model/record.ts';
import {
  coverageOfPages,
  type How,
  NO_FLAGS,
  type SeenPage,
  type Sighting,
  type SightingFlags,
  showsAll,
} from '../model/sighting.ts';

/** Maximum number of earlier states that are remembered of one file. Older ones are forgotten. */
const MAX_SEEN_BEFORE = 8;

/** Maximum number of pages that are remembered of one file: with 2000 lines each, 400,000 lines. */
const MAX_PAGES = 200;

/**
 * A session's sighting of a file after one more view. If both views are of equal bytes, their lines
 * add up. Otherwise the new view replaces the old one. The time is that of the latest view, so a
 * rewind to an earlier time drops the whole sighting.
 */
export function mergeSighting(old: Sighting | undefined, next: Sighting): Sighting {
  if (old === undefined) return next;
  const seenBefore = bytesSeenBefore(old, next);
  const merged = old.tombstone === true ? next : addView(old, next);
  return seenBefore === undefined ? merged : { ...merged, seenBefore };
}

/**
 * The earlier states of a file to remember. The file may return to one of them (stash and pop,
 * checkout and back). Its bytes then count as seen.
 */
function bytesSeenBefore(old: Sighting, next: Sighting): readonly Fingerprint[] | undefined {
  if (next.tombstone === true || old.lost !== undefined) return undefined;
  const { fingerprint: now } = next;
  const isUnchanged =
    now !== undefined && old.fingerprint !== undefined && sameFingerprint(old.fingerprint, now);
  if (isUnchanged && old.seenBefore === undefined) return undefined;
  const seen = bytesSeenWhole(old);
  if (now === undefined || seen === undefined) return old.seenBefore;
  const others = seen.filter((each) => !sameFingerprint(each, now));
  return others.length === 0 ? undefined : others;
}

/** The states of a file that a sighting has shown whole, oldest first; undefined if there are none. */
export function bytesSeenWhole(sighting: Sighting): readonly Fingerprint[] | undefined {
  const { fingerprint, seenBefore = [] } = sighting;
  if (sighting.lost !== undefined || sighting.how === 'listing') return undefined;
  if (fingerprint === undefined || sighting.coverage.kind !== 'whole' || !showsAll(sighting.flags))
    return sighting.seenBefore;
  const others = seenBefore.filter((each) => !sameFingerprint(each, fingerprint));
  return [...others, fingerprint].slice(-MAX_SEEN_BEFORE);
}

function addView(old: Sighting, next: Sighting): Sighting {
  if (next.tombstone === true) return next;
  if (next.how === 'edit') return afterEdit(old, next);
  if (isEverything(next)) return next;
  const same = sameBytes(old, next);
  const pages = joinedPages(old, next, same ? 'same' : 'other');
  if (!same) return pages === undefined ? next : pagesOfTwoStates(old, next, pages);
  if (pages?.some(({ earlier }) => earlier)) return pagesOfTwoStates(old, next, pages);

  const totalLines = next.totalLines ?? old.totalLines;
  const [before, now] = textCoverages(old, next);
  const wasMixed = pages !== undefined && old.pages?.some(({ earlier }) => earlier);
  const coverage = addUp(wasMixed ? coverageOfPages(pages) : before, now, totalLines);
  return {
    ...carriedOver(old, next),
    fingerprint: next.fingerprint ?? old.fingerprint,
    coverage,
    totalLines,
    flags: mergeFlags(old, next),
    ...(pages === undefined ? {} : { pages }),
    ...(old.unplaced === true && coverage.kind !== 'whole' ? { unplaced: true } : {}),
  };
}

/**
 * Joins the pages (shown parts of a huge file) of two views. If the file changed between the views
 * (`other`), the old pages are marked as `earlier`. Drops earlier pages once newer pages show all
 * their lines, and the oldest pages beyond `MAX_PAGES`. Undefined if a view has no pages, or if the
 * old pages are no longer in the model's context.
 */
function joinedPages(old: Sighting, next: Sighting, bytes: 'same' | 'other'): SeenPage[] | undefined {
  const newer = next.pages;
  if (old.pages === undefined || newer === undefined || old.lost !== undefined) return undefined;
  const isReplaced = ({ from, to }: LineRange): boolean =>
    newer.some((page) => page.from <= from && page.to >= to);
  const kept = old.pages.filter((page) => !isReplaced(page));
  const isEarlier = (page: SeenPage): boolean => bytes === 'other' || page.earlier === true;
  const present = [...kept.filter((page) => !isEarlier(page)), ...newer];
  const shown = coverageOfPages(present);
  const earlier = kept.filter((page) => isEarlier(page) && !covers(shown, page));
  return [...earlier.map((page) => ({ ...page, earlier: true as const })), ...present].slice(-MAX_PAGES);
}

/**
 * Merges pages of a huge file even if the stamps differ, because each page's own hash is compared
 * before use. The result is never a whole view: only a fingerprint of all bytes proves one.
 */
function pagesOfTwoStates(old: Sighting, next: Sighting, pages: readonly SeenPage[]): Sighting {
  const coverage = coverageOfPages(pages);
  return { ...carriedOver(old, next), fingerprint: undefined, coverage, flags: mergeFlags(old, next), pages };
}

/** True for a complete read, to which an earlier view can add nothing. Nearly every read is complete. */
function isEverything({ coverage, how, fingerprint, stamp, totalLines, flags }: Sighting): boolean {
  if (coverage.kind !== 'whole' || how !== 'read' || flags !== NO_FLAGS) return false;
  return fingerprint !== undefined && stamp !== undefined && totalLines !== undefined;
}

/**
 * The sighting after the session's own edit. `next` already has the shown lines with their new
 * numbers. An edit cannot make a partial view whole: if `next` claims so, nothing counts as shown
 * until the next read.
 */
function afterEdit(old: Sighting, next: Sighting): Sighting {
  const upgraded = next.coverage.kind === 'whole' && old.coverage.kind !== 'whole';
  return {
    ...next,
    coverage: upgraded ? NOTHING : next.coverage,
    flags: {
      clamped: old.flags.clamped || next.flags.clamped,
      redacted: old.flags.redacted || next.flags.redacted,
      notText: next.flags.notText,
      unverified: next.flags.unverified,
    },
    // If no lines count as shown after the edit, keep the reason why the old sighting lost its
    // lines.
    ...(old.lost !== undefined && next.coverage.kind === 'none' ? { lost: old.lost } : {}),
  };
}

/**
 * True if two sightings are of the same bytes. Pages of a huge file have no fingerprint: for them,
 * equal stamps count as equal bytes.
 */
function sameBytes(a: Sighting, b: Sighting): boolean {
  if (a.fingerprint !== undefined && b.fingerprint !== undefined)
    return sameFingerprint(a.fingerprint, b.fingerprint);
  if (a.stamp === undefined || b.stamp === undefined) return false;
  return !a.racy && sameStamp(a.stamp, b.stamp);
}

/**
 * The lines that the old and the new view have shown. If one of the views only described a file
 * that is not text, it counts as showing no lines.
 */
function textCoverages(old: Sighting, next: Sighting): [Coverage, Coverage] {
  if (old.flags.notText === next.flags.notText) return [old.coverage, next.coverage];
  return old.flags.notText ? [NOTHING, next.coverage] : [old.coverage, NOTHING];
}

function addUp(before: Coverage, now: Coverage, totalLines: number | undefined): Coverage {
  if (before.kind === 'none') return now;
  if (now.kind === 'none') return before;
  // If the line count is unknown, use infinity, so that no set of lines counts as the whole file.
  return unionCoverage(before, now, totalLines ?? Number.POSITIVE_INFINITY);
}

function mergeFlags(old: Sighting, next: Sighting): SightingFlags {
  return {
    clamped: taint('clamped', old, next),
    redacted: taint('redacted', old, next),
    notText: old.flags.notText && next.flags.notText,
    unverified: old.flags.unverified && next.flags.unverified,
  };
}

/**
 * True if the merged sighting keeps a flag (`clamped`: lines were cut; `redacted`: secrets were
 * masked). Sightings do not record which lines a flag concerns. So a view clears the flag only if
 * it has no such flag itself and shows all lines of the flagged view.
 */
function taint(flag: 'clamped' | 'redacted', old: Sighting, next: Sighting): boolean {
  if (old.flags[flag] === next.flags[flag]) return next.flags[flag];
  const [tainted, clean] = old.flags[flag] ? [old, next] : [next, old];
  // A line may have been masked in one view and cut in the other, and was then never shown completely.
  if (clean.flags.clamped || clean.flags.redacted) return true;
  if (clean.coverage.kind === 'whole') return false;
  if (tainted.coverage.kind !== 'lines') return true;
  return !rangesOf(tainted.coverage, 0).every((range) => covers(clean.coverage, range));
}

/** The ways to see a file again that let a session repeat content that was refused as STALE. */
const REREADS: ReadonlySet<How> = new Set<How>(['read', 'output', 'witness']);

/**
 * The new sighting. If it has no stamp, it gets the stamp of the old sighting. Content that was
 * refused as STALE stays refused until the session reads the whole file again.
 */
function carriedOver(old: Sighting, next: Sighting): Sighting {
  const reread = next.coverage.kind === 'whole' && REREADS.has(next.how);
  const refused = next.refusedContent ?? (reread ? undefined : old.refusedContent);
  const stamped = next.stamp === undefined ? { stamp: old.stamp, racy: old.racy } : {};
  return { ...next, ...stamped, ...(refused === undefined ? {} : { refusedContent: refused }) };
}

/** True for a live sighting: neither a tombstone (deleted file) nor a stub (lost sighting). */
export function counts(sighting: Sighting): boolean {
  return sighting.tombstone !== true && !isStub(sighting);
}

/**
 * True if a sighting can allow a change. This is a live sighting, or the record of a deleted file
 * (tombstone) with bytes that were seen: another program may bring these bytes back.
 */
export function licenses(sighting: Sighting): boolean {
  return counts(sighting) || (sighting.tombstone === true && sighting.seenBefore !== undefined);
}

/**
 * Returns a function that finds a sighting by bytes instead of by name, and converts it to a
 * sighting of the file `key`. Of several sightings of the same bytes, takes one that shows them
 * whole. Ignores listings, and sightings without lines.
 */
export function sightingsByBytes(
  sightings: readonly Sighting[],
): (bytes: Fingerprint, key: string, atMs: number) => Sighting | undefined {
  const known = new Map<string, Sighting>();
  for (const sighting of sightings) {
    const { fingerprint, coverage, how } = sighting;
    if (fingerprint === undefined || coverage.kind === 'none' || how === 'listing') continue;
    if (known.get(fingerprint.sha256)?.coverage.kind !== 'whole') known.set(fingerprint.sha256, sighting);
  }
  return (bytes, key, atMs) => {
    const found = known.get(bytes.sha256);
    if (found === undefined) return undefined;
    const { coverage, totalLines, flags } = found;
    const place = { key, fingerprint: bytes, stamp: undefined, racy: true } as const;
    return { ...place, coverage, totalLines, flags, how: 'witness', atMs };
  };
}

/** True if `next` is a live sighting and `old` is not: the number of live sightings then grows. */
export function isAdded(next: Sighting, old: Sighting | undefined): boolean {
  return counts(next) && !(old !== undefined && counts(old));
}

/**
 * The sightings of a moved file or folder under its new path. A move changes stamps, so the old
 * stamps are marked as unreliable (`racy`), and the next check compares bytes.
 */
export function movedSightings(
  sightings: readonly Sighting[],
  { from, to }: { readonly from: string; readonly to: string },
): Sighting[] {
  return sightings.map((seen) => ({
    ...seen,
    key: `${to}${seen.key.slice(from.length)}`,
    racy: true,
    // Replace `edit` by `write`: merging an edit continues the sighting of the file that was at
    // this path before, but the moved file replaces that file.
    how: seen.how === 'edit' ? 'write' : seen.how,
  }));
}

const VERSION = 1;

const HOWS: ReadonlySet<string> = new Set<How>([
  'read',
  'write',
  'edit',
  'output',
  'cure',
  'listing',
  'history',
  'witness',
]);

/**
 * Exports sightings as JSON text. Omits sightings without a fingerprint: an import could not
 * confirm them.
 */
export function exportSightings(session: string, sightings: readonly Sighting[]): string {
  const exported = sightings
    .filter((sighting) => sighting.fingerprint !== undefined)
    .map(({ key, fingerprint, coverage, totalLines, flags, how, atMs, lost }) => ({
      key,
      fingerprint,
      coverage,
      totalLines,
      flags,
      how,
      atMs,
      lost,
    }));
  return JSON.stringify({ lookfirst: 'sightings', version: VERSION, session, sightings: exported });
}

/**
 * Parses the output of {@link exportSightings}; throws a Fault MISUSE for anything else. The result
 * has no stamps, so that an import must compare hashes.
 */
export function parseSightings(text: string): Sighting[] {
  const value = parse(text);
  if (!isRecord(value) || value['lookfirst'] !== 'sightings')
    throw wrong('the text is not an export of sightings');
  if (value['version'] !== VERSION) throw wrong(`its version is not ${VERSION}`);
  if (!Array.isArray(value['sightings'])) throw wrong('it has no list of sightings');
  return value['sightings'].map((item: unknown, index) => {
    const sighting = sightingOf(item);
    if (sighting === undefined) throw wrong(`its sighting ${index} is malformed`);
    return sighting;
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw wrong('it is not JSON', cause);
  }
}

function sightingOf(value: unknown): Sighting | undefined {
  if (!isRecord(value)) return undefined;
  const { key, fingerprint, totalLines, how, atMs, lost } = value;
  const coverage = coverageOf(value['coverage']);
  const flags = flagsOf(value['flags']);
  if (typeof key !== 'string' || coverage === undefined || flags === undefined) return undefined;
  if (!isRecord(fingerprint) || typeof fingerprint['sha256'] !== 'string') return undefined;
  if (!isCount(fingerprint['size']) || !isHow(how) || typeof atMs !== 'number') return undefined;
  if (totalLines !== undefined && !isCount(totalLines)) return undefined;
  if (lost !== undefined && lost !== 'compacted') return undefined;
  return {
    key,
    fingerprint: { sha256: fingerprint['sha256'], size: fingerprint['size'] },
    stamp: undefined,
    racy: false,
    coverage,
    totalLines,
    flags,
    how,
    atMs,
    ...(lost === undefined ? {} : { lost }),
  };
}

function coverageOf(value: unknown): Coverage | undefined {
  if (!isRecord(value)) return undefined;
  if (value['kind'] === 'whole' || value['kind'] === 'none') return { kind: value['kind'] };
  const ranges: unknown = value['ranges'];
  if (value['kind'] !== 'lines' || !Array.isArray(ranges) || !ranges.every(isRange)) return undefined;
  return { kind: 'lines', ranges: ranges.map(({ from, to }) => ({ from, to })) };
}

function flagsOf(value: unknown): SightingFlags | undefined {
  if (!isRecord(value)) return undefined;
  const { clamped, redacted, notText, unverified } = value;
  if (typeof clamped !== 'boolean' || typeof redacted !== 'boolean') return undefined;
  if (typeof notText !== 'boolean' || typeof unverified !== 'boolean') return undefined;
  return { clamped, redacted, notText, unverified };
}

function isRange(value: unknown): value is LineRange {
  return isRecord(value) && isCount(value['from']) && isCount(value['to']) && value['from'] <= value['to'];
}

function isHow(value: unknown): value is How {
  return typeof value === 'string' && HOWS.has(value);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function wrong(why: string, cause?: unknown): Fault {
  return new Fault('MISUSE', `the sightings cannot be imported: ${why}`, { cause });
}

/** One in this many file keys is in the sample that `isSampled` selects. */
export const SAMPLE = 64;

/**
 * True if a key is in a fixed sample of all keys, the same in every process. Many short processes
 * can share work without a counter: a process does the work only for keys in the sample.
 */
export function isSampled(key: string): boolean {
  let sum = 0;
  for (let i = 0; i < key.length; i++) sum = (Math.imul(sum, 31) + key.charCodeAt(i)) | 0;
  // The low bits of the sum depend only on the low bits of the characters, so fold in the high
  // bits.
  return ((sum ^ (sum >>> 16)) & (SAMPLE - 1)) === 0;
}
