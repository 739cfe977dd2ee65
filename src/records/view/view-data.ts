import type { LineRange } from '../../model/coverage.ts';
import type { EntryKind } from '../../model/entry.ts';
import type { UndoneFile } from '../../model/results.ts';
import type { RefusalCode } from '../../model/verdict.ts';

/** The journal's data for users as plain JSON. The viewer's page and `--json` answers have these shapes. */

/** One journal entry, as a row in the viewer's list of events (the feed). */
export interface FeedRow {
  readonly seq: number;
  readonly atMs: number;
  readonly session: string;
  readonly kind: EntryKind;
  /** A summary of the event in a few words. */
  readonly what: string;
  readonly undo?: true;
  /** The change removed bytes that nothing else held. They are kept, and an undo restores them. */
  readonly destroyed?: true;
  readonly path?: string;
  readonly code?: RefusalCode;
  readonly change?: string;
  readonly turn?: string;
  /**
   * The machine that wrote the entry; absent for this machine. Present only if machines share the
   * store.
   */
  readonly machine?: string;
}

export interface FeedPage {
  /** The rows, newest first. */
  readonly rows: readonly FeedRow[];
  /** Pass this as `before` to get older rows. Absent if there are none. */
  readonly next?: number;
}

export interface FeedFilter {
  readonly session?: string | undefined;
  readonly kinds?: readonly EntryKind[] | undefined;
  /** A part of a path; case does not matter. */
  readonly path?: string | undefined;
  readonly code?: string | undefined;
  readonly turn?: string | undefined;
}

/** One file that was changed or for which a change was refused. */
export interface FileRow {
  readonly root: string;
  readonly path: string;
  readonly changes: number;
  readonly refusals: number;
  readonly lastMs: number;
  /** The sessions that changed the file, most recent first. */
  readonly writers: readonly string[];
}

export interface SessionRow {
  readonly id: string;
  readonly lastMs: number;
  readonly open: boolean;
  readonly client?: string;
}

export interface TurnRow {
  readonly seq: number;
  readonly turn: string;
  readonly session: string;
  readonly atMs: number;
  /** The label of the turn; without a label, its prompt, or else its id. */
  readonly words: string;
  readonly files: readonly string[];
  readonly changes: number;
  /** True if at least one change of the turn has not been undone. */
  readonly stands: boolean;
}

/** One row of a diff; numbers count from 1. */
export interface DiffRow {
  readonly sign: ' ' | '-' | '+';
  readonly before?: number;
  readonly after?: number;
  readonly text: string;
  /**
   * The changed characters of this line, as start and end. A removed line is compared with the
   * added line that replaces it, and the added line with the removed one.
   */
  readonly marks?: readonly (readonly [start: number, end: number])[];
  /** Number of the hunk that the row belongs to. */
  readonly hunk?: number;
}

/** The number of lines that a change added and removed. */
export interface LineCount {
  readonly added: number;
  readonly removed: number;
}

/** The change of one file. */
export interface FileDiff extends LineCount {
  readonly root: string;
  readonly path: string;
  /**
   * The rows in groups. Each group holds neighbouring hunks and the unchanged lines around them.
   */
  readonly groups: readonly (readonly DiffRow[])[];
  /** The number of changed rows that are not shown, because the diff is too long. */
  readonly cut: number;
  /** The number of unchanged lines that are not shown. */
  readonly hidden: number;
  /** The reason why there are no rows, or a description of changes other than text. */
  readonly note?: string;
  /** True if single hunks can be undone. */
  readonly parts: boolean;
}

/** A statement about an entry or turn. */
export interface Fact {
  /** The subject of the words. */
  readonly name?: string;
  readonly words: string;
  /** Present if the statement stands out. `right` and `wrong` judge a refusal. */
  readonly tone?: 'note' | 'warn' | 'right' | 'wrong';
  /** The entries that prove the statement. */
  readonly rows?: readonly FeedRow[];
}

/** One entry or turn with everything that belongs to it, for the page and for documents. */
export interface DetailView {
  readonly row: FeedRow;
  /** The path of the row is relative to this root. */
  readonly root: string;
  readonly facts: readonly Fact[];
  readonly files: readonly (FileDiff & { readonly about?: Fact })[];
  /** True if something is left that an undo could take back. */
  readonly canUndo: boolean;
}

/** The lines that one session has seen and changed, in current line numbers. */
export interface Strip {
  readonly session: string;
  /** Lines that were shown to the session and are unchanged. */
  readonly seen: readonly LineRange[];
  /** Lines that were shown to the session and have changed since. */
  readonly stale: readonly LineRange[];
  readonly wrote: readonly LineRange[];
  readonly words: string;
}

/** A file, and the sessions that have seen and written each line. */
export interface FilePicture {
  readonly root: string;
  readonly path: string;
  readonly totalLines: number;
  readonly strips: readonly Strip[];
  /** The text from line 1 on, with secrets masked. */
  readonly lines: readonly string[];
  /** The reason why the text is missing or incomplete. */
  readonly note?: string;
  /** Changes and refusals, newest first. */
  readonly history: readonly FeedRow[];
  /**
   * For each line, the index in `history` of the change that wrote it last. -1 if the line is older
   * than the history, or if another program wrote it.
   */
  readonly authors: readonly number[];
}

/** The result or preview of an undo, or the reason why it does nothing. */
export type UndoView =
  | {
      readonly ok: true;
      /** The id of the change that the undo made; absent in a preview. */
      readonly change?: string;
      readonly files: readonly UndoneFile[];
      readonly diffs: readonly FileDiff[];
      /** Sentences about what the undo leaves as it is, such as later edits of the same file. */
      readonly stays: readonly string[];
    }
  | {
      readonly ok: false;
      readonly code: RefusalCode;
      readonly path: string;
      readonly reason: string;
      readonly diffs: readonly FileDiff[];
    };

/** The data for the viewer's first page. */
export interface StartView {
  readonly folders: readonly string[];
  /** The reason why this viewer cannot undo changes; absent if it can. */
  readonly readOnly?: string;
  /** True if the viewer can play the scenes of `lookfirst demo`. */
  readonly canDemo: boolean;
  /** The position in the journal after which entries are new. */
  readonly cursor: string;
  readonly feed: FeedPage;
  readonly sessions: readonly SessionRow[];
}

/** The kinds of the entries that were recorded since the page asked last. */
export interface LiveView {
  readonly cursor: string;
  readonly kinds: readonly EntryKind[];
}

/** The refusals of one session, or about one file. */
export interface SavedBy {
  readonly name: string;
  /** The root of the file; absent for a session. */
  readonly root?: string;
  readonly refusals: number;
  /** The lines that the refused changes would have removed, as far as they are known. */
  readonly lines: number;
}

/** The refusals of the last 30 days that saved bytes. */
export interface Saves {
  readonly refusals: number;
  /** Refused changes of a whole file that would have removed lines its session had not seen. */
  readonly overwrites: number;
  readonly lines: number;
  readonly byCode: readonly (readonly [code: RefusalCode, count: number])[];
  /** One count for each day, oldest first; days as YYYY-MM-DD. */
  readonly byDay: readonly (readonly [day: string, count: number])[];
  readonly bySession: readonly SavedBy[];
  readonly byFile: readonly SavedBy[];
  /** Commands that removed bytes that nothing else held, and that Lookfirst kept. */
  readonly destroyed: readonly FeedRow[];
  readonly falseAlarms: readonly FeedRow[];
}
