import type { LineRange } from './coverage.ts';
import type { FileKind } from './path.ts';

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
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** The one thing to do next; `report/` turns it into a sentence that names a tool of the dialect in use. */
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
  | 'none';

/** What a session tried to do, in the words of refusals and journal. */
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
  /** A tool call as a whole, before it is known what it does. */
  | 'call'
  | 'run'
  | 'commit';

/** A place in a file where an anchor was found, or nearly found. */
export interface MatchPlace {
  readonly line: number;
  /** The line's text, bounded. */
  readonly text: string;
}

/** Which bytes a file holds, and since when. */
export interface FileState {
  readonly sha256: string;
  readonly size: number;
  /** Milliseconds since 1970; absent if it is not known. */
  readonly mtimeMs?: number;
}

/** The session that changed a file, or works on it. */
export interface Writer {
  readonly session: string;
  readonly atMs: number;
  /** The program that the session belongs to, if it is known. */
  readonly client?: string;
  readonly turn?: string;
}

/** Facts behind a refusal, for programs; plain JSON. Which ones are present depends on the code. */
export interface RefusalDetail {
  /** Why, in a few words, where the code alone does not say it. */
  readonly reason?: string;
  readonly kind?: FileKind;
  readonly missing?: readonly LineRange[];
  readonly totalLines?: number;
  /** When the session saw the file, milliseconds since 1970. */
  readonly seenAtMs?: number;
  /** When the file was last modified, and what that was when the session saw it. */
  readonly mtimeMs?: number;
  readonly seenMtimeMs?: number;
  /** The file as the session saw it and as it is now; for a change that passes when it is repeated. */
  readonly seen?: FileState;
  readonly now?: FileState;
  /** Bounded unified diff from what the session saw to what is there. */
  readonly diff?: string;
  /** The current revision; only when the refusal itself showed all that the session had not seen. */
  readonly revision?: string;
  readonly places?: readonly MatchPlace[];
  readonly count?: number;
  /** Nearest text of a failed match, with visible white space and line numbers. */
  readonly nearest?: string;
  /** What differs between the text sent and the nearest text, in a few words. */
  readonly difference?: string;
  /** The exact text to search for instead, where this session has seen it; see `nearest`. */
  readonly anchor?: string;
  readonly limitBytes?: number;
  readonly sizeBytes?: number;
  /** The sibling session that changed the file, and when. */
  readonly writer?: Writer;
  /** How many times in a row this code was given for this path. */
  readonly repeated?: number;
  readonly errno?: string;
  /** Where bytes are kept that someone else wrote at the same moment and that are not in place. */
  readonly kept?: readonly string[];
  /** What a refused command has printed, bounded. */
  readonly output?: string;
  /** Id under which a refused command's writes are kept; `lookfirst run --apply ID` commits them. */
  readonly layer?: string;
  /** A refused batch names every refused file. */
  readonly refusals?: readonly Refusal[];
  /** Index of the edit or change that was refused. */
  readonly index?: number;
}

/** An expected "no": a value, never thrown. Ignoring it is harmless, for nothing was changed. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly action: Action;
  /** The path as the caller wrote it. */
  readonly path: string;
  readonly next: NextStep;
  readonly detail?: RefusalDetail;
}

/** A refused result. */
export interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

export type Outcome<T> = ({ readonly ok: true } & T) | Refused;

export function refused(refusal: Refusal): Refused {
  return { ok: false, refusal };
}
