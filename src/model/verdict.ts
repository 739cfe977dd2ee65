import type { LineRange } from './coverage.ts';
import type { FileKind } from './path.ts';
import type { PresetName } from './policy.ts';

/** Public refusal codes. Append-only; pinned by a test. */
export const REFUSAL_CODES = [
  'OUTSIDE_WORKSPACE',
  'PROTECTED',
  'READ_ONLY',
  'NOT_FOUND',
  'NOT_A_FILE',
  'NOT_READ',
  'PARTIALLY_READ',
  'READ_EXPIRED',
  'STALE',
  'DELETED',
  'ALREADY_EXISTS',
  'REVISION_MISMATCH',
  'NO_MATCH',
  'AMBIGUOUS_MATCH',
  'NOT_TEXT',
  'TOO_LARGE',
  'PLACEHOLDER_CONTENT',
  'REDACTED_READ',
  'UNVERIFIABLE',
  'BUSY',
  'INVALID_ARGUMENT',
  'NO_SANDBOX',
  'COMMAND_CONFLICT',
  'WOULD_DESTROY',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/**
 * The recommended next step. `report/` turns it into a sentence that names a tool as the client
 * knows it.
 */
export type NextStep =
  | 'read'
  | 'read_range'
  | 'read_again'
  | 'list'
  | 'other_path'
  | 'other_tool'
  | 'add_context'
  | 'use_edit'
  | 'fix_argument'
  | 'retry_later'
  | 'ask_human'
  /** The user may want it: the same call again is carried out. */
  | 'repeat'
  | 'none';

/** The kind of operation that a session tried, as named in refusals and the journal. */
export type Action =
  | 'read'
  | 'list'
  | 'search'
  | 'status'
  | 'create'
  | 'overwrite'
  | 'edit'
  | 'insert'
  | 'delete'
  | 'move'
  | 'mkdir'
  | 'undo'
  /** The end of a change that was announced. */
  | 'settle'
  /** A whole tool call whose effect is not yet known. */
  | 'call'
  | 'run'
  | 'commit';

/** A line in a file that matches a searched text, or the old text of an edit, exactly or nearly. */
export interface MatchPlace {
  readonly line: number;
  /** The text of the line, cut if it is long. */
  readonly text: string;
}

/** A file's content (as hash and size) and its modification time. */
export interface FileState {
  readonly sha256: string;
  readonly size: number;
  /** Milliseconds since 1970; absent if unknown. */
  readonly mtimeMs?: number;
}

/** The session that changed a file or is working on it. */
export interface Writer {
  readonly session: string;
  readonly atMs: number;
  /** The program that the session belongs to, if it is known. */
  readonly client?: string;
  readonly turn?: string;
  /** The shell line of the session's own command, if that changed the file. */
  readonly command?: string;
}

/** Something that a refused command would destroy. */
export interface AtRisk {
  /** A path, as the caller may write it, or the name of a branch or stash entry. */
  readonly what: string;
  readonly kind: 'file' | 'folder' | 'link' | 'index' | 'ref' | 'stash' | 'repository' | 'worktree';
  /** Why nothing else has its bytes, in a few words: `not committed`, `outside the workspace`. */
  readonly reason: string;
}

/** Facts behind a refusal, for programs, as plain JSON. The code determines which fields are present. */
export interface RefusalDetail {
  /** The reason in a few words, if the refusal's code does not make it clear. */
  readonly reason?: string;
  readonly kind?: FileKind;
  /** The source of a refused move. Present if the refusal's path is the destination. */
  readonly source?: string;
  readonly missing?: readonly LineRange[];
  /**
   * Number of names at the end of the path that do not exist. Present if a folder above the file is
   * missing too.
   */
  readonly absentNames?: number;
  readonly totalLines?: number;
  /** When the session saw the file, milliseconds since 1970. */
  readonly seenAtMs?: number;
  /** The file's modification time: now (`mtimeMs`), and when it was seen (`seenMtimeMs`). */
  readonly mtimeMs?: number;
  readonly seenMtimeMs?: number;
  /**
   * The file as the session saw it (`seen`), and as it is now (`now`). Present if the change is
   * allowed when the session repeats it.
   */
  readonly seen?: FileState;
  readonly now?: FileState;
  /** Bounded unified diff from the content the session saw to the current content. */
  readonly diff?: string;
  /**
   * The current revision; present only if the refusal itself showed everything that the session had not
   * seen.
   */
  readonly revision?: string;
  readonly places?: readonly MatchPlace[];
  readonly count?: number;
  /**
   * The text in the file that is most similar to the text that was not found, with visible white
   * space and line numbers.
   */
  readonly nearest?: string;
  /** The difference between the text sent and the nearest text, in a few words. */
  readonly difference?: string;
  /**
   * The exact text to use as the old text of a repeated edit. Present only if this session has seen
   * it.
   */
  readonly anchor?: string;
  /**
   * Set if the session has seen the whole file as it is now, so that reading it again would show
   * nothing new.
   */
  readonly seenWhole?: true;
  readonly limitBytes?: number;
  readonly sizeBytes?: number;
  /** The session that changed the file, and when: another one, or a command of the same. */
  readonly writer?: Writer;
  /** Number of consecutive refusals with this code for this path. */
  readonly repeated?: number;
  readonly errno?: string;
  /** Paths of copies of the file as another program saved it while this change was being made. */
  readonly kept?: readonly string[];
  /** What a refused command would destroy. */
  readonly atRisk?: readonly AtRisk[];
  /** Output of the refused command, bounded. */
  readonly output?: string;
  /** See `RunResult.endedProcesses`. */
  readonly endedProcesses?: readonly string[];
  /** Id of the refused command's kept writes; `lookfirst run --apply ID` commits them. */
  readonly layer?: string;
  /** The undo to call instead of the refused one, or before repeating the refused one. */
  readonly undo?: UndoCall;
  /** One refusal per refused file of a batch, or per file that an undo cannot restore. */
  readonly refusals?: readonly Refusal[];
  /** Number of files that a refused undo would restore as a partial one. */
  readonly restorable?: number;
  /** Number of paths that were not checked, because enough others were refused. Absent if all were checked. */
  readonly unchecked?: number;
  /** Index of the edit or change that was refused. */
  readonly index?: number;
}

/** The arguments of an undo, as its tool takes them. */
export interface UndoCall {
  readonly change?: string;
  readonly path?: string;
  readonly merge?: true;
}

/**
 * An expected "no", returned and never thrown. A caller that ignores it does no harm, because nothing was
 * changed.
 */
export interface Refusal {
  readonly code: RefusalCode;
  readonly action: Action;
  /** The path as the caller wrote it. */
  readonly path: string;
  readonly next: NextStep;
  readonly detail?: RefusalDetail;
  /** The preset whose sentences `explain` uses. Absent for the default sentences. */
  readonly wording?: PresetName;
}

/** The result of a refused operation. */
export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

export type Outcome<T> = ({ readonly ok: true } & T) | Refused;

export function refused(refusal: Refusal): Refused {
  return { ok: false, refusal };
}

/** The refusal of an argument that is invalid whatever the files contain. */
export function invalidArgument(action: Action, path: string, reason: string): Refusal {
  return { code: 'INVALID_ARGUMENT', action, path, next: 'fix_argument', detail: { reason } };
}
