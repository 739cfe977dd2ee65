import type { RecordedPage } from '../dialect/calls/answer.ts';
import type { Edited } from './edited.ts';
import type { View } from './view.ts';

/** The result of a tool call, in no host's words. */
export interface ToolResult {
  readonly id: string;
  readonly ok: boolean;
  /** The host tells success from failure. Without such a flag, only a text that proves success counts. */
  readonly flagged: boolean;
  /** What the model was shown; undefined where the record does not keep it. */
  readonly text?: string | undefined;
  /** The host gives the empty line after a final newline a number of its own. */
  readonly countsEmptyEnd?: boolean;
  /** Standard output alone, where the host wraps it; `text` otherwise. */
  readonly stdout?: string | undefined;
  /** The page of a read, where the host recorded it beside the text. */
  readonly page?: RecordedPage | undefined;
  /** The file around an edit, where the host recorded it. */
  readonly edited?: Edited | undefined;
  /** The whole file before a write, where the host recorded it; null: there was none. */
  readonly before?: string | null | undefined;
  /** What the call showed, where the host recorded it; instead of what the call's arguments promise. */
  readonly views?: readonly View[] | undefined;
  /** From the machine data of our own tools. */
  readonly outcome?: { readonly revision?: string; readonly complete: boolean } | undefined;
  readonly atMs?: number | undefined;
  /** The message the result is part of, where messages have names. */
  readonly message?: string | undefined;
}
