import type { Coverage } from '../model/coverage.ts';
import { linesCoverage, NOTHING, WHOLE } from '../model/coverage.ts';
import type { HistorySighting } from './history-sighting.ts';
import { marksIn, NO_MARKS, shownText } from './shown-text.ts';
import type { Page } from './tool-result.ts';

/** A sighting before it is known which call it belongs to. */
export type View = Omit<HistorySighting, 'callId' | 'atMs'>;

/**
 * The view of a page. `exact`: its text is the file's own to the byte, so that what looks like a mark is none; and should
 * it turn out to be all of the file, its hash is the file's.
 */
export function pageView(path: string, page: Page, exact: 'exact' | 'lines'): View {
  const { from, to, text, totalLines } = page;
  const coverage = coverageOf(page);
  const shown = shownText(text, { from, to });
  const { sha256, size } = shown;
  return {
    path,
    coverage,
    ...(totalLines === undefined ? {} : { totalLines }),
    shown: [shown],
    ...(exact === 'exact' && coverage.kind === 'whole' ? { fingerprint: { sha256, size } } : {}),
    how: 'read',
    ...(exact === 'exact' ? NO_MARKS : marksIn(text)),
  };
}

/** A view of which only the fact is known, or the lines but not their text. */
export function bareView(path: string, extra: Partial<View>): View {
  return { path, coverage: NOTHING, how: 'read', clamped: false, redacted: false, ...extra };
}

/** Lines counted from the end are not known by number until the disk says how many there are. */
function coverageOf(page: Page): Coverage {
  if (page.totalLines === 0) return WHOLE;
  if (page.from < 1 || page.to < page.from) return NOTHING;
  return linesCoverage([{ from: page.from, to: page.to }], page.totalLines ?? Number.POSITIVE_INFINITY);
}
