import type { RecordedPage } from '../dialect/calls/answer.ts';
import type { Edited } from './edited.ts';
import type { View } from './view.ts';

/** The result of a tool call, in a form that is independent of the host. */
export interface RecordedResult {
  readonly id: string;
  readonly ok: boolean;
  /**
   * True if the host marks success and failure. Without such a flag, only a text that proves success
   * counts.
   */
  readonly flagged: boolean;
  /** The text that the model was shown; undefined if the record does not keep it. */
  readonly text?: string | undefined;
  /** True if the host numbers the empty line after a final newline. */
  readonly countsEmptyEnd?: boolean;
  /** Only the standard output, if the host wraps it; otherwise use `text`. */
  readonly stdout?: string | undefined;
  /** The page of a read, if the host recorded it in addition to the text. */
  readonly page?: RecordedPage | undefined;
  /** The edit with the text before it, if the host recorded it. */
  readonly edited?: Edited | undefined;
  /** The whole file before a write, if the host recorded it; null if there was none. */
  readonly before?: string | null | undefined;
  /** The views that the host recorded; they replace those derived from the call's arguments. */
  readonly views?: readonly View[] | undefined;
  /** From the outcome data of Lookfirst's own tools. */
  readonly outcome?: { readonly revision?: string; readonly complete: boolean } | undefined;
  readonly atMs?: number | undefined;
  /** Id of the message that contains the result, if messages have ids. */
  readonly message?: string | undefined;
}
