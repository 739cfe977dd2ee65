import type { Coverage } from '../model/coverage.ts';
import { linesCoverage, NOTHING, WHOLE } from '../model/coverage.ts';
import type { HistorySighting } from './history-sighting.ts';
import { marksIn, NO_MARKS, shownText } from './shown-text.ts';
import type { Page } from './tool-result.ts';

/** A sighting before it is known which call it belongs to. */
export type View = Omit<HistorySighting, 'callId' | 'atMs'>;

/** Which lines a text is; see Page. */
export interface PageLines {
  readonly from: number;
  readonly to: number;
  readonly totalLines?: number;
}

/** The page that a text is. `exact`: it is the file's own to the byte, so that what looks like a mark in it is none. */
export function pageOf(text: string, lines: PageLines, exact: 'exact' | 'lines'): Page {
  const { from, to, totalLines } = lines;
  const isExact = exact === 'exact';
  const { clamped, redacted } = isExact ? NO_MARKS : marksIn(text);
  const shown = shownText(text, { from, to });
  return totalLines === undefined
    ? { shown, exact: isExact, clamped, redacted }
    : { shown, totalLines, exact: isExact, clamped, redacted };
}

/** The view of a page. */
export function pageView(path: string, page: Page): View {
  const { shown, totalLines, clamped, redacted } = page;
  const coverage = coverageOf(page);
  const { sha256, size } = shown;
  const view: View =
    totalLines === undefined
      ? { path, coverage, shown: [shown], how: 'read', clamped, redacted }
      : { path, coverage, totalLines, shown: [shown], how: 'read', clamped, redacted };
  return page.exact && coverage.kind === 'whole' ? { ...view, fingerprint: { sha256, size } } : view;
}

/** A view of which only the fact is known, or the lines but not their text. */
export function bareView(path: string, extra: Partial<View>): View {
  return { path, coverage: NOTHING, how: 'read', clamped: false, redacted: false, ...extra };
}

/** Lines counted from the end are not known by number until the disk says how many there are. */
function coverageOf({ shown, totalLines }: Page): Coverage {
  const { from, to } = shown;
  if (totalLines === 0 || (from === 1 && to === totalLines)) return WHOLE;
  if (from < 1 || to < from) return NOTHING;
  return linesCoverage([{ from, to }], totalLines ?? Number.POSITIVE_INFINITY);
}
