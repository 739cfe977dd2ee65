import type { MatchPlace } from '../model/verdict.ts';
import { clampLine } from './clamp.ts';
import { countNewlines, type Span } from './lines.ts';

const MAX_PLACES = 10;
const MAX_LINE_CHARS = 160;

/** Where spans begin: line and bounded line text, at most ten. Spans are ascending. */
export function placesOf(text: string, spans: readonly Span[]): MatchPlace[] {
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
  // In a very long line the place itself is worth more than the beginning.
  if (line.length <= MAX_LINE_CHARS || offset - start < MAX_LINE_CHARS / 2)
    return clampLine(line, MAX_LINE_CHARS).text;
  return `…${clampLine(text.slice(offset, offset + MAX_LINE_CHARS * 2).split('\n', 1)[0] ?? '', MAX_LINE_CHARS).text}`;
}
