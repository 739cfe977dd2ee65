import {
  type Coverage,
  covers,
  type LineRange,
  NOTHING,
  rangesOf,
  unionCoverage,
} from '../model/coverage.ts';
import { sameFingerprint, sameStamp } from '../model/fingerprint.ts';
import {
  coverageOfPages,
  type How,
  NO_FLAGS,
  type SeenPage,
  type Sighting,
  type SightingFlags,
  showsAll,
} from '../model/sighting.ts';

/** Maximum number of pages that are remembered of one file: with 2000 lines each, 400,000 lines. */
const MAX_PAGES = 200;

/** Adds one view, which is to be recorded, to the session's knowledge. */
export function afterView(known: Sighting | undefined, next: Sighting): Sighting {
  if (known === undefined || known.tombstone === true || next.tombstone === true) return next;
  return next.how === 'edit' ? afterEdit(known, next) : addView(known, next);
}

/** Joins two views of the same bytes. */
export function joinViews(old: Sighting | undefined, next: Sighting): Sighting {
  if (old === undefined) return next;
  if (next.how !== 'edit') return addView(old, next);
  return { ...next, coverage: addUp(old.coverage, next.coverage, next.totalLines) };
}

/** True if a sighting shows all bytes of a file, completely. */
export function sawWhole({ coverage, flags, how, lost, fingerprint }: Sighting): boolean {
  if (lost !== undefined || how === 'listing' || fingerprint === undefined) return false;
  return coverage.kind === 'whole' && showsAll(flags);
}

function addView(old: Sighting, next: Sighting): Sighting {
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
export function sameBytes(a: Sighting, b: Sighting): boolean {
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

/** True if the earlier sighting already covers every line of the bytes in `now`. */
export function sawAll(earlier: Sighting | undefined, now: Sighting): boolean {
  return earlier?.coverage.kind === 'whole' && isOfSameBytes(earlier, now);
}

/**
 * True if a view of the whole file only repeats a view from less than `withinMs` ago. It is then
 * not stored again. Most second reads are such repeats.
 */
export function isSameView(old: Sighting | undefined, next: Sighting, withinMs: number): boolean {
  return (
    old !== undefined &&
    next.atMs - old.atMs < withinMs &&
    old.coverage.kind === 'whole' &&
    next.coverage.kind === 'whole' &&
    old.how === next.how &&
    old.flags === next.flags &&
    old.racy === next.racy &&
    old.totalLines === next.totalLines &&
    old.refusedContent === next.refusedContent &&
    old.heldBack === undefined &&
    old.stamp !== undefined &&
    next.stamp !== undefined &&
    sameStamp(old.stamp, next.stamp) &&
    isOfSameBytes(old, next)
  );
}

function isOfSameBytes(before: Sighting, now: Sighting): boolean {
  return (
    before.fingerprint !== undefined &&
    now.fingerprint !== undefined &&
    sameFingerprint(before.fingerprint, now.fingerprint)
  );
}
