import { hash } from 'node:crypto';
import type { ShownLines } from '../dialect/calls/shown/delivered.ts';
import { type Coverage, linesCoverage, NOTHING, WHOLE } from '../model/coverage.ts';
import { lineCount } from '../text/lines.ts';
import type { HistorySighting, ShownText } from './history-sighting.ts';

/** A sighting without the call that it belongs to. */
export type View = Omit<HistorySighting, 'callId' | 'atMs'>;

/** The view of lines that were shown of a file. */
export function shownView(path: string, lines: ShownLines): View {
  const { content, totalLines, revision, clamped = false, redacted = false } = lines;
  const view = bareView(path, {
    coverage: coverageOf(lines),
    clamped,
    redacted,
    ...(totalLines === undefined ? {} : { totalLines }),
    ...(revision === undefined ? {} : { revision }),
  });
  if (content === undefined) return view;
  const range = lines.ranges?.[0] ?? { from: 1, to: totalLines ?? lineCount(content) };
  const shown = shownText(content, range);
  const { sha256, size } = shown;
  const isWhole = lines.exact === true && view.coverage.kind === 'whole';
  return { ...view, shown: [shown], ...(isWhole ? { fingerprint: { sha256, size } } : {}) };
}

/** A view of which only the fact is known, or the line numbers without their text. */
export function bareView(path: string, extra: Partial<View>): View {
  return { path, coverage: NOTHING, how: 'read', clamped: false, redacted: false, ...extra };
}

/** Lines counted from the end have no numbers until the length of the file on disk is known. */
function coverageOf({ ranges, totalLines = Number.POSITIVE_INFINITY }: ShownLines): Coverage {
  if (ranges === undefined || totalLines === 0) return WHOLE;
  return ranges.some(({ from, to }) => from < 1 || to < from) ? NOTHING : linesCoverage(ranges, totalLines);
}

/** Hashes a text that begins at a line. Only the hash is kept, so memory does not grow with the shown text. */
export function shownText(text: string, lines: { readonly from: number; readonly to: number }): ShownText {
  return { from: lines.from, to: lines.to, sha256: hash('sha256', text), size: Buffer.byteLength(text) };
}
