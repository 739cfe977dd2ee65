import { hash } from 'node:crypto';
import type { LineRange } from '../model/coverage.ts';
import { sliceLines, toLf } from '../text/lines.ts';
import type { HistorySighting, ShownText } from './history-sighting.ts';

/** A text to compare with what was shown. */
export interface Compared {
  readonly text: string;
  readonly totalLines: number;
}

/** The lines of a text that a sighting showed exactly as they are there. Line endings and a final newline may differ: reads do not show them. */
export function verifiedRanges(sighting: HistorySighting, compared: Compared): readonly LineRange[] {
  return (sighting.shown ?? []).flatMap((shown) => {
    const range = rangeIn(shown, compared.totalLines);
    return range !== undefined && sameText(shown, sliceLines(compared.text, range)) ? [range] : [];
  });
}

/** Where lines counted from the end are; one line past the last is the empty one that some hosts count after a final newline. */
function rangeIn(shown: ShownText, totalLines: number): LineRange | undefined {
  const from = shown.from < 0 ? totalLines + 1 + shown.from : shown.from;
  const to = shown.to < 0 ? totalLines + 1 + shown.to : shown.to;
  if (from < 1 || to < from || to > totalLines + 1) return undefined;
  return { from, to: Math.min(to, totalLines) };
}

/** Line endings cost at most one byte each; anything further apart is not the same text, and is not hashed. */
function sameText(shown: ShownText, text: string): boolean {
  const size = Buffer.byteLength(text);
  if (shown.size > size) return false;
  const windows = text.includes('\r\n');
  if (!windows && shown.size < size - 1) return false;
  const unix = windows ? toLf(text) : text;
  return [text, unix, text.replace(/\r?\n$/, ''), unix.replace(/\n$/, '')].some(
    (candidate) => Buffer.byteLength(candidate) === shown.size && hash('sha256', candidate) === shown.sha256,
  );
}
