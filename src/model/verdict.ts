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
  /**
   * The reason why nothing else has the bytes, in a few words: `not committed`, `outside the
   * workspace`.
   */
  readonly reason: string;
}

/** The source of a refused move whose destination is the refusal's path. */
interface Destination {
  readonly source?: string;
}

/**
 * Facts that any refusal may carry. Most are added by the code that passes a refusal on: for one file of
 * several, for a command, for the third try in a row.
 */
interface CommonDetail {
  /** Words for people, where the code alone does not say enough. */
  readonly reason?: string;
  /** The error of the system call that failed. */
  readonly errno?: string;
  /** When the session saw the file, milliseconds since 1970. */
  readonly seenAtMs?: number;
  /** Number of consecutive refusals with this code for this path. */
  readonly repeated?: number;
  /** Paths of copies of the file as another program saved it while this change was being made. */
  readonly kept?: readonly string[];
  /** Index of the edit or change that was refused. */
  readonly index?: number;
  /** One refusal per refused file of a batch, or per file that an undo cannot restore. */
  readonly refusals?: readonly Refusal[];
  /** Number of paths that were not checked, because enough others were refused. Absent if all were checked. */
  readonly unchecked?: number;
  /** Number of files that a refused undo would restore as a partial one. */
  readonly restorable?: number;
  /** The undo to call instead of the refused one, or before repeating the refused one. */
  readonly undo?: UndoCall;
  /** Output of the refused command, bounded. */
  readonly output?: string;
  /** See `RunResult.endedProcesses`. */
  readonly endedProcesses?: readonly string[];
  /** Id of the refused command's kept writes; `lookfirst run --apply ID` commits them. */
  readonly layer?: string;
}

/**
 * The facts behind a refusal of each code, for programs, as plain JSON. `cause` is a word that code
 * may compare; a `reason` without listed values holds words for people.
 */
interface Details {
  readonly OUTSIDE_WORKSPACE: unknown;
  readonly PROTECTED: Destination & {
    /** `tampering`, `own-command`: a shell line that may do, or does, something only the user may do. */
    readonly cause?: 'root' | 'approval' | 'declined' | 'tampering' | 'own-command' | 'unknown tool';
    readonly kind?: 'directory';
  };
  readonly READ_ONLY: {
    readonly cause?: 'session' | 'root' | 'file';
    readonly kind?: 'directory';
  };
  readonly NOT_FOUND: Destination & {
    readonly cause?: 'turn';
    /**
     * Number of names at the end of the path that do not exist. Present if a folder above the file is
     * missing too.
     */
    readonly absentNames?: number;
  };
  readonly NOT_A_FILE: Destination & { readonly kind?: FileKind };
  readonly NOT_READ: {
    readonly reason?:
      | 'evicted'
      | 'compacted'
      | 'rewound'
      | 'forgotten'
      | 'recreated'
      | 'unverified'
      | 'changed';
    readonly kind?: 'directory';
    readonly writer?: Writer;
  };
  readonly PARTIALLY_READ: {
    readonly reason?: 'clamped';
    readonly missing?: readonly LineRange[];
    readonly totalLines?: number;
  };
  readonly READ_EXPIRED: unknown;
  readonly STALE: Changed & { readonly cause?: 'repeated'; readonly kind?: 'directory' };
  readonly DELETED: { readonly cause?: 'by this session'; readonly kind?: 'directory' };
  readonly ALREADY_EXISTS: Destination & { readonly kind?: FileKind };
  readonly REVISION_MISMATCH: { readonly reason?: 'missing' };
  readonly NO_MATCH: NoMatch;
  readonly AMBIGUOUS_MATCH: { readonly places?: readonly MatchPlace[]; readonly count?: number };
  readonly NOT_TEXT: unknown;
  readonly TOO_LARGE: { readonly sizeBytes?: number; readonly limitBytes?: number };
  readonly PLACEHOLDER_CONTENT: Partial<CopiedText>;
  readonly REDACTED_READ: Partial<CopiedText>;
  readonly UNVERIFIABLE: { readonly cause?: 'unknown tool' };
  readonly BUSY: { readonly writer?: Writer };
  readonly INVALID_ARGUMENT: {
    readonly cause?: 'patch';
    readonly kind?: 'file' | 'directory';
  };
  readonly NO_SANDBOX: unknown;
  readonly COMMAND_CONFLICT: Changed;
  readonly WOULD_DESTROY: { readonly atRisk?: readonly AtRisk[]; readonly writer?: Writer };
}

/** The file as the session saw it, and as it is now. */
interface Changed {
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
  /** The session that changed the file, and when: another one, or a command of the same. */
  readonly writer?: Writer;
}

/** The text in the file that comes nearest to the one that an edit did not find. */
interface NoMatch {
  readonly count?: number;
  /** The most similar text in the file, with visible white space and line numbers. */
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
}

/** Text that a read adds or puts in place of a value, and that must not be written. */
export interface CopiedText {
  readonly reason: string;
  readonly cause?: 'line-numbers' | 'mask';
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
export type Refusal = { readonly [C in RefusalCode]: RefusalOf<C> }[RefusalCode];

/** The refusal of one code. */
export interface RefusalOf<C extends RefusalCode> {
  readonly code: C;
  readonly action: Action;
  /** The path as the caller wrote it. */
  readonly path: string;
  readonly next: NextStep;
  readonly detail?: Details[C] & CommonDetail;
  /** The preset whose sentences `explain` uses. Absent for the default sentences. */
  readonly wording?: PresetName;
}

/** A copy of the refusal with more facts. */
export function passOn(refusal: Refusal, facts: CommonDetail): Refusal {
  // A fact of this kind fits the detail of every code.
  return { ...refusal, detail: { ...refusal.detail, ...facts } } as Refusal;
}

/** The cause of a refusal in words: for people, and in JSON. */
export function reasonOf({ detail = {} }: Refusal): string | undefined {
  return detail.reason ?? ('cause' in detail ? detail.cause : undefined);
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
