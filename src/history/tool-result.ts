import type { Edited } from './edited.ts';
import type { Carried } from './entry.ts';
import type { ShownText } from './history-sighting.ts';
import type { Marks } from './shown-text.ts';
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
  readonly page?: Page | undefined;
  /** The text, where it was not decoded. */
  readonly numbered?: NumberedLines | undefined;
  readonly plain?: PlainLines | undefined;
  /** The file around an edit, where the host recorded it. */
  readonly edited?: Edited | undefined;
  /** What the call showed, where the host recorded it; instead of what the call's arguments promise. */
  readonly views?: readonly View[] | undefined;
  /** What the model knows of the call's file after its edit. */
  readonly carried?: Carried | undefined;
  /** From the machine data of our own tools. */
  readonly outcome?: { readonly revision?: string; readonly complete: boolean } | undefined;
  readonly atMs?: number | undefined;
  /** The message the result is part of, where messages have names. */
  readonly message?: string | undefined;
}

/** Lines of a file that were shown. */
export interface Page extends Marks {
  readonly shown: ShownText;
  /** Only when it is certain; counted without an empty line after a final newline. */
  readonly totalLines?: number | undefined;
  /** The text is the file's own to the byte: if it is all of the file, its hash is the file's. */
  readonly exact: boolean;
}

/** Lines as a read shows them, `N<TAB>text`, of which only the hash was taken: of the text as JSON writes it. */
export interface NumberedLines extends Pick<ShownText, 'from' | 'to' | 'sha256' | 'size'> {
  /** The last line is the empty one after a final newline. */
  readonly endsInEmptyLine: boolean;
}

/** What a command printed, of which only the hash was taken: of the text as JSON writes it. */
export interface PlainLines extends Pick<ShownText, 'sha256' | 'size'> {
  readonly lines: number;
  readonly endsInNewline: boolean;
}
