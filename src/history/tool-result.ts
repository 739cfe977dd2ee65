import type { Answer } from '../dialect/calls/answer.ts';
import { defined, type JsonRecord, objectIn, stringIn } from '../model/record.ts';
import { OUTCOME_KEY } from '../report/json.ts';
import { type Span, splitLines } from '../text/lines.ts';
import type { TranscriptView } from './history-sighting.ts';

/**
 * The result of a tool call in a transcript. `flagged` is false if the host does not mark results as
 * success or failure: a call then counts as successful only if its text proves it.
 */
export interface RecordedResult extends Omit<Answer, 'texts' | 'media'> {
  readonly id: string;
  /**
   * True if the call is a command that ended with success, whatever it printed. Without it, `ok` says
   * so, which for commands also means that the output is known to be complete.
   */
  readonly ended?: boolean | undefined;
  /** The text that the model was shown; undefined if the record does not keep it. */
  readonly text?: string | undefined;
  /** The edit that the call made and the file's text before it, if the host recorded both. */
  readonly edited?: Edited | undefined;
  /** The whole file before a write, if the host recorded it; null if the write created the file. */
  readonly before?: string | null | undefined;
  /**
   * The parts of files that the model knows through this call, as the host recorded them. They
   * replace the parts that would be derived from the call's arguments.
   */
  readonly views?: readonly TranscriptView[] | undefined;
  /** True if an answer of Lookfirst's own tools says that the call succeeded. */
  readonly done?: true;
  readonly atMs?: number | undefined;
  /** Id of the message that contains the result, if messages have ids. */
  readonly message?: string | undefined;
}

/** The outcome in a result of Lookfirst's own tools. Empty for results of other tools. */
export function outcomeIn(
  result: JsonRecord,
): Pick<RecordedResult, 'done' | 'revision'> & { readonly refused?: true } {
  const outcome = objectIn(objectIn(result, '_meta') ?? {}, OUTCOME_KEY);
  if (outcome === undefined) return {};
  return outcome['ok'] === true
    ? { done: true, ...defined({ revision: stringIn(outcome, 'revision') }) }
    : { refused: true };
}

/** An edit of a file: the text before it, and the replaced spans. */
export interface Edited {
  readonly before: string;
  /** The replaced spans, ascending and disjoint. */
  readonly spans: readonly Span[];
  /** The text that replaces each span. */
  readonly put: string;
}

/** A replacement: the old text, the new text, and the occurrences to replace. */
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
 * The edit between two texts, if nothing else is known of it. It replaces all lines except the
 * equal ones at the beginning and at the end.
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
