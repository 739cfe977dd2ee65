import type { MatchPlace } from '../model/verdict.ts';
import { clampLine, countNewlines, type Span } from './lines.ts';
import { type Nearest, nearest } from './nearest.ts';
import { MASK, type MaskedText, unmasked } from './secrets.ts';

/** Maximum number of places that a failed edit quotes. */
const MAX_PLACES = 10;
const MAX_LINE_CHARS = 160;

export interface QuoteOptions {
  /** Masks the secrets in text of the file that a failed edit quotes. Default: masks nothing. */
  readonly mask?: (text: string) => MaskedText;
}

/**
 * The lines most similar to the text to replace, with secrets masked. The lines are found in the
 * masked text of the whole file: the lines of a private key are recognised only together with its
 * first line. Text with a mask is not suggested as a text to search for.
 */
export function quotedNearest(
  text: string,
  anchor: string,
  { mask = unmasked }: QuoteOptions,
): Nearest | undefined {
  const like = nearest(mask(text).text, anchor);
  return like?.anchor?.includes(MASK) === true ? { shown: like.shown } : like;
}

/**
 * Like `anchorPlaces`, with secrets masked. Lines are cut only after that, because a cut can remove
 * the text by which a secret is recognised.
 */
export function quotedPlaces(
  text: string,
  spans: readonly Span[],
  { mask = unmasked }: QuoteOptions,
): MatchPlace[] {
  const { text: shown, offsetOf } = mask(text);
  const places = spans.slice(0, MAX_PLACES);
  return anchorPlaces(
    shown,
    places.map(({ start, end }) => ({ start: offsetOf(start), end: offsetOf(end) })),
  );
}

/** Line number and bounded text of the places where spans begin, at most ten. Spans must be ascending. */
export function anchorPlaces(text: string, spans: readonly Span[]): MatchPlace[] {
  let line = 1;
  let counted = 0;
  return spans.slice(0, MAX_PLACES).map((span) => {
    line += countNewlines(text, span.start, counted);
    counted = span.start;
    return { line, text: lineTextAt(text, span.start) };
  });
}

function lineTextAt(text: string, offset: number): string {
  const start = offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  const line = text.slice(start, end === -1 ? text.length : end).replace(/\r$/, '');
  // If the offset is far into a very long line, show the line from the offset, not from its start.
  if (line.length <= MAX_LINE_CHARS || offset - start < MAX_LINE_CHARS / 2)
    return clampLine(line, MAX_LINE_CHARS).text;
  return `…${clampLine(line.slice(offset - start), MAX_LINE_CHARS).text}`;
}
