import { type Span, splitLines } from '../text/lines.ts';

/** An edit of a file: the text before it, and the replaced spans. */
export interface Edited {
  readonly before: string;
  /** Ascending and disjoint. */
  readonly spans: readonly Span[];
  /** The text that replaces each span. */
  readonly put: string;
}

/** The text to replace and the occurrences to replace. */
export interface EditedSpan {
  readonly from: string;
  readonly to: string;
  readonly which: 'first' | 'all';
}

/** The edit that a replacement makes; undefined if nothing matches. */
export function replacedIn(before: string, { from, to, which }: EditedSpan): Edited | undefined {
  const spans: Span[] = [];
  if (from === '') return undefined;
  for (let start = before.indexOf(from); start !== -1; start = before.indexOf(from, start + from.length)) {
    spans.push({ start, end: start + from.length });
    if (which === 'first') break;
  }
  return spans.length === 0 ? undefined : { before, spans, put: to };
}

/**
 * The edit between two texts, if only the texts are known: it replaces all lines between the equal beginning and
 * end.
 */
export function editedBetween(before: string, after: string): Edited {
  const old = splitLines(before);
  const now = splitLines(after);
  const shorter = Math.min(old.length, now.length);
  let [head, tail, start, ended] = [0, 0, 0, 0];
  for (; head < shorter && old[head] === now[head]; head += 1) start += old[head]?.length ?? 0;
  for (; tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail); tail += 1)
    ended += old.at(-1 - tail)?.length ?? 0;
  const spans = [{ start, end: before.length - ended }];
  return { before, spans, put: after.slice(start, after.length - ended) };
}

export function textAfter({ before, spans, put }: Edited): string {
  const pieces: string[] = [];
  let at = 0;
  for (const { start, end } of spans) {
    pieces.push(before.slice(at, start), put);
    at = end;
  }
  return pieces.join('') + before.slice(at);
}
