import {
  type Coverage,
  covers,
  type LineRange,
  NOTHING,
  rangesOf,
  unionCoverage,
} from '../model/coverage.ts';
import { type Fingerprint, sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import {
  coverageOfPages,
  NO_FLAGS,
  type SeenPage,
  type Sighting,
  type SightingFlags,
  showsAll,
} from '../model/sighting.ts';

/** States of one file that are remembered. */
const MAX_SEEN_BEFORE = 8;
/** Pages of 2000 lines each: 400,000 lines. */
const MAX_PAGES = 200;

/**
 * What a session knows of a file after one more view of it. Coverage adds up only at one fingerprint; other bytes replace
 * what was known. An own edit moves the baseline and never makes a partial view whole.
 * Its time is that of the latest view, so a TTL counts from there and a rewind before it drops the sum.
 */
export function mergeSighting(old: Sighting | undefined, next: Sighting): Sighting {
  if (old === undefined || old.tombstone === true) return next;
  const seenBefore = bytesSeenBefore(old, next);
  const merged = addView(old, next);
  return seenBefore === undefined ? merged : { ...merged, seenBefore };
}

/**
 * A file may come back to bytes that were seen before: a stash and pop, a checkout and back. They count as seen, so they
 * are remembered when other bytes take their place.
 */
function bytesSeenBefore(old: Sighting, next: Sighting): readonly Fingerprint[] | undefined {
  if (next.tombstone === true || old.lost !== undefined) return undefined;
  const before = old.seenBefore ?? [];
  const { fingerprint } = old;
  if (fingerprint === undefined || old.coverage.kind !== 'whole' || !showsAll(old.flags))
    return old.seenBefore;
  if (next.fingerprint === undefined || sameFingerprint(fingerprint, next.fingerprint)) return old.seenBefore;
  const others = before.filter((each) => !sameFingerprint(each, fingerprint));
  return [...others, fingerprint].slice(-MAX_SEEN_BEFORE);
}

function addView(old: Sighting, next: Sighting): Sighting {
  if (next.tombstone === true) return next;
  if (next.how === 'edit') return afterEdit(old, next);
  if (isEverything(next)) return next;
  const pages = joinedPages(old, next);
  if (!sameBytes(old, next)) return pages === undefined ? next : pagesOfTwoStates(old, next, pages);

  const totalLines = next.totalLines ?? old.totalLines;
  const [before, now] = textCoverages(old, next);
  return {
    ...carriedOver(old, next),
    fingerprint: next.fingerprint ?? old.fingerprint,
    coverage: addUp(before, now, totalLines),
    totalLines,
    flags: mergeFlags(old, next),
    ...(pages === undefined ? {} : { pages }),
  };
}

/** The pages of both views; where one shows what another showed, the newer. The oldest give way at a bound. */
function joinedPages(old: Sighting, next: Sighting): readonly SeenPage[] | undefined {
  const newer = next.pages;
  if (old.pages === undefined || newer === undefined) return undefined;
  const isReplaced = ({ from, to }: LineRange): boolean =>
    newer.some((page) => page.from <= from && page.to >= to);
  return [...old.pages.filter((page) => !isReplaced(page)), ...newer].slice(-MAX_PAGES);
}

/**
 * Pages of a huge file add up whatever the stamps say, for each is compared by its own hash before it licenses anything.
 * They never become the whole: only one fingerprint proves that.
 */
function pagesOfTwoStates(old: Sighting, next: Sighting, pages: readonly SeenPage[]): Sighting {
  const coverage = coverageOfPages(pages);
  return { ...carriedOver(old, next), fingerprint: undefined, coverage, flags: mergeFlags(old, next), pages };
}

/** A read of the whole, with nothing that an earlier view could add: what nearly every read is. */
function isEverything({ coverage, how, fingerprint, stamp, totalLines, flags }: Sighting): boolean {
  if (coverage.kind !== 'whole' || how !== 'read' || flags !== NO_FLAGS) return false;
  return fingerprint !== undefined && stamp !== undefined && totalLines !== undefined;
}

/**
 * The caller has carried the coverage over its own edit; what was cut or blanked stays so. A claim to the whole after a
 * partial view is not believed: nothing is then known to be in view, until a read shows it.
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
    // Out of context before the edit, out of context after it.
    ...(old.lost !== undefined && next.coverage.kind === 'none' ? { lost: old.lost } : {}),
  };
}

/** Pages of a huge file have no fingerprint; for them an equal stamp stands in. */
function sameBytes(a: Sighting, b: Sighting): boolean {
  if (a.fingerprint !== undefined && b.fingerprint !== undefined)
    return sameFingerprint(a.fingerprint, b.fingerprint);
  if (a.stamp === undefined || b.stamp === undefined) return false;
  return !a.racy && sameStamp(a.stamp, b.stamp);
}

/** A description shows no lines, so beside a view of text it covers nothing. */
function textCoverages(old: Sighting, next: Sighting): [Coverage, Coverage] {
  if (old.flags.notText === next.flags.notText) return [old.coverage, next.coverage];
  return old.flags.notText ? [NOTHING, next.coverage] : [old.coverage, NOTHING];
}

function addUp(before: Coverage, now: Coverage, totalLines: number | undefined): Coverage {
  if (before.kind === 'none') return now;
  if (now.kind === 'none') return before;
  // Without a known end no number of lines is the whole.
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

/** Which lines were cut is not kept, so only a clean view of all that the tainted one showed heals it. */
function taint(flag: 'clamped' | 'redacted', old: Sighting, next: Sighting): boolean {
  if (old.flags[flag] === next.flags[flag]) return next.flags[flag];
  const [tainted, clean] = old.flags[flag] ? [old, next] : [next, old];
  if (clean.coverage.kind === 'whole') return false;
  if (tainted.coverage.kind !== 'lines') return true;
  return !rangesOf(tainted.coverage, 0).every((range) => covers(clean.coverage, range));
}

/** Fields of the newer view; refused content stays refused until the whole file was read again. */
function carriedOver(old: Sighting, next: Sighting): Sighting {
  const reread = next.coverage.kind === 'whole' && (next.how === 'read' || next.how === 'witness');
  const refused = next.refusedContent ?? (reread ? undefined : old.refusedContent);
  const stamped = next.stamp === undefined ? { stamp: old.stamp, racy: old.racy } : {};
  return { ...next, ...stamped, ...(refused === undefined ? {} : { refusedContent: refused }) };
}
