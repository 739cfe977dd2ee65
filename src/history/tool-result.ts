import type { RecordedPage } from '../dialect/calls/answer.ts';
import { isRecord, type JsonRecord, objectIn, stringIn } from '../model/record.ts';
import { OUTCOME_KEY } from '../report/json.ts';
import { type Span, splitLines } from '../text/lines.ts';
import type { TranscriptView } from './history-sighting.ts';

/** The result of a tool call, in a form that is independent of the host. */
export interface RecordedResult {
  readonly id: string;
  readonly ok: boolean;
  /**
   * True if the host marks results as success or failure. Without such a mark, a call counts as
   * successful only if its text proves it.
   */
  readonly flagged: boolean;
  /**
   * True if the call is a command that ended with success, whatever it printed. Without it, `ok` says
   * so, which for commands also means that the output is known to be complete.
   */
  readonly ended?: boolean | undefined;
  /** The text that the model was shown; undefined if the record does not keep it. */
  readonly text?: string | undefined;
  /** True if the host numbers the empty line after a final newline. */
  readonly countsEmptyEnd?: boolean;
  /** The command's standard output alone, if `text` contains more than that. If absent, use `text`. */
  readonly stdout?: string | undefined;
  /** The lines that a read returned, if the host recorded them in addition to the text. */
  readonly page?: RecordedPage | undefined;
  /** The edit that the call made and the file's text before it, if the host recorded both. */
  readonly edited?: Edited | undefined;
  /** The whole file before a write, if the host recorded it; null if the write created the file. */
  readonly before?: string | null | undefined;
  /**
   * The parts of files that the model knows through this call, as the host recorded them. They
   * replace the parts that would be derived from the call's arguments.
   */
  readonly views?: readonly TranscriptView[] | undefined;
  /**
   * Present for Lookfirst's own tools: the revision in the result, and whether the session has seen
   * the whole file.
   */
  readonly outcome?: { readonly revision?: string; readonly complete: boolean } | undefined;
  readonly atMs?: number | undefined;
  /** Id of the message that contains the result, if messages have ids. */
  readonly message?: string | undefined;
}

/**
 * The outcome in a result of Lookfirst's own tools: `refused`, or the revision and completeness
 * that a success reports. Empty for results of other tools.
 */
export function outcomeIn(result: JsonRecord): Pick<RecordedResult, 'outcome'> & { readonly refused?: true } {
  const outcome = objectIn(objectIn(result, '_meta') ?? {}, OUTCOME_KEY);
  if (!isRecord(outcome)) return {};
  if (outcome['ok'] !== true) return { refused: true };
  const revision = stringIn(outcome, 'revision');
  const complete = outcome['complete'] === true;
  return { outcome: { complete, ...(revision === undefined ? {} : { revision }) } };
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
interface EditedSpan {
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
