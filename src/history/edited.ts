import { type Span, splitLines } from '../text/lines.ts';

/** What an edit did to a file: the text before it, and what was replaced. */
export interface Edited {
  readonly before: string;
  /** In order and apart from each other. */
  readonly spans: readonly Span[];
  /** What stands in the place of each. */
  readonly put: string;
}

/** Which places a replacement concerns. */
export interface Replacement {
  readonly from: string;
  readonly to: string;
  readonly which: 'first' | 'all';
}

/** The edit that a replacement is; undefined if there is nothing to replace. */
export function replacedIn(before: string, { from, to, which }: Replacement): Edited | undefined {
  const spans: Span[] = [];
  if (from === '') return undefined;
  for (let start = before.indexOf(from); start !== -1; start = before.indexOf(from, start + from.length)) {
    spans.push({ start, end: start + from.length });
    if (which === 'first') break;
  }
  return spans.length === 0 ? undefined : { before, spans, put: to };
}

/** The edit between two texts of which no more is known: all lines between those that are the same at both ends. */
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
