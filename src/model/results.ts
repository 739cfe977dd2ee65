import type { ToldClaim } from './claim.ts';
import type { LineRange } from './coverage.ts';
import type { FileKind } from './path.ts';
import type { FileState, MatchPlace, RefusalCode } from './verdict.ts';

/**
 * Information for the caller about an operation that succeeded. Code in `report/` puts it into
 * words.
 */
export type Notice =
  | {
      readonly kind: 'changed-elsewhere';
      readonly diff: string;
      readonly truncated: boolean;
      readonly writer?: string;
      /**
       * The claims of the sessions that changed the file, if this notice is the first to name them
       * in this turn.
       */
      readonly claims?: readonly ToldClaim[];
    }
  | { readonly kind: 'unseen-lines'; readonly ranges: readonly LineRange[] }
  /** The session appended to a file whose current content it has not seen. */
  | { readonly kind: 'unseen-append' }
  | { readonly kind: 'match-tier'; readonly tier: MatchTier }
  | { readonly kind: 'quotes-straightened'; readonly count: number }
  /** A command set a key in a client's settings that only the user may set. `change`: its id. */
  | {
      readonly kind: 'settings-changed';
      readonly path: string;
      readonly what: string;
      readonly change: string;
    }
  /** Another program wrote typographic quotes where code needs straight ones. */
  | { readonly kind: 'quotes-kept'; readonly path: string; readonly ranges: readonly LineRange[] }
  | { readonly kind: 'hard-links-broken'; readonly count: number }
  | { readonly kind: 'mode-bits-dropped'; readonly bits: string }
  | { readonly kind: 'owner-changed' }
  | { readonly kind: 'xattrs-lost' }
  | { readonly kind: 'stale-warning'; readonly text: string }
  /** Another program has changed the file's line endings, or has removed its byte order mark. */
  | { readonly kind: 'form-changed'; readonly path: string; readonly what: string }
  | { readonly kind: 'late-write'; readonly path: string; readonly retained: string }
  /**
   * Another program saved the file during this session's write. `kept`: paths of copies of the
   * saved bytes, because the file itself may no longer hold them.
   */
  | { readonly kind: 'met-save'; readonly path: string; readonly kept: readonly string[] }
  | { readonly kind: 'changed-seen-files'; readonly paths: readonly string[]; readonly cut: number }
  | { readonly kind: 'bypassed'; readonly glob: string; readonly grant?: string }
  | { readonly kind: 'not-recorded' }
  /** The store failed, so the shown lines do not count as seen. */
  | { readonly kind: 'not-noted' }
  /**
   * While this session's change was under way, another session (`session`) changed the file too.
   * `change`: the id of the other session's change.
   */
  | { readonly kind: 'overtaken'; readonly path: string; readonly change: string; readonly session: string }
  /** The file again has bytes that it had earlier and that this session has seen. */
  | { readonly kind: 'came-back' }
  /**
   * A command overwrote another writer's change that the session had not seen. `change`: the id of
   * the command's change. Undoing the command restores the other writer's change.
   */
  | { readonly kind: 'lost-change'; readonly path: string; readonly change: string; readonly diff: string }
  /**
   * A command has moved files from paths that were not recorded. An undo of the command leaves them
   * at their new paths. `cut`: number of paths not named.
   */
  | { readonly kind: 'older-files'; readonly paths: readonly string[]; readonly cut: number }
  /**
   * The change destroyed bytes that could not be kept, so an undo cannot bring them back. `cut`:
   * number of paths not named.
   */
  | { readonly kind: 'not-kept'; readonly paths: readonly string[]; readonly cut: number }
  /**
   * A command removed things that exist nowhere else and that its session did not make. They are
   * kept: undoing the change restores them. `cut`: number of things not named.
   */
  | {
      readonly kind: 'destroyed';
      readonly change: string;
      readonly names: readonly string[];
      readonly cut: number;
    }
  /** A command removed these files, of which a stash still has copies. `cut`: number of paths that are not listed. */
  | { readonly kind: 'in-stash'; readonly paths: readonly string[]; readonly cut: number }
  /** Another session's command removed this session's uncommitted work at `paths`. */
  | {
      readonly kind: 'work-destroyed';
      readonly change: string;
      readonly by: string;
      readonly command: string;
      readonly paths: readonly string[];
    }
  /** Other sessions are changing the file. Sent once per file and turn. */
  | { readonly kind: 'claimed'; readonly path: string; readonly claims: readonly ToldClaim[] }
  /**
   * Other sessions are working in this workspace; reported at the beginning of a turn. `cut`: number of claims not
   * named.
   */
  | { readonly kind: 'others-at-work'; readonly claims: readonly ToldClaim[]; readonly cut: number }
  /** The agent wrote a file in a worktree other than its own. `meant`: the same file in its own worktree. */
  | { readonly kind: 'other-worktree'; readonly path: string; readonly own: string; readonly meant: string }
  | { readonly kind: 'recreated' };

/** The ways in which the text of an edit can match, strictest first. */
export const MATCH_TIERS = [
  'exact',
  'line-endings',
  'trailing-space',
  'punctuation',
  'line-numbers',
  'indentation',
  'blank-lines',
  'inner-spacing',
  'escapes',
] as const;
export type MatchTier = (typeof MATCH_TIERS)[number];

export interface ReadResult {
  /** The path as the caller wrote it. */
  readonly path: string;
  /** The shown lines, decoded and joined with `\n`, without line numbers; long lines are clamped. */
  readonly text: string;
  /**
   * The shown lines exactly as in the file, with line endings, if they are UTF-8 and none is clamped. Do not modify:
   * later diffs use this buffer.
   */
  readonly bytes?: Uint8Array;
  /** First and last line shown, 1-based; 0 and 0 for an empty file. */
  readonly from: number;
  readonly to: number;
  /** Undefined only for pages of a huge file whose end was not reached. */
  readonly totalLines: number | undefined;
  readonly sizeBytes: number;
  /** True if the session has now seen the whole file as it is on disk. */
  readonly complete: boolean;
  /** A token for the exact bytes of the file. Present only if `complete`. */
  readonly revision?: string;
  readonly encoding: string;
  /** Numbers of the lines that are shown only in part. */
  readonly clamped: readonly number[];
  /** Present if the file is not text: its type, and its bytes if they can be shown as media. */
  readonly media?: { readonly mimeType: string; readonly base64?: string };
  readonly notices?: readonly Notice[];
}

export interface ChangeResult {
  readonly path: string;
  /** Id of the change in the journal; undefined if nothing changed. */
  readonly change?: string;
  readonly changed: boolean;
  readonly created: boolean;
  readonly sizeBytes: number;
  /** A token for the exact bytes of the file. Present only if the session has seen all of them. */
  readonly revision?: string;
  /** Number of replaced matches, for edits. */
  readonly replaced?: number;
  /** The way in which the text of an edit matched, if not exactly. */
  readonly tier?: MatchTier;
  /** The inserted lines, for inserts. */
  readonly inserted?: LineRange;
  /** Bounded unified diff of this change, for edits and dry runs. */
  readonly diff?: string;
  readonly notices: readonly Notice[];
}

export interface ApplyResult {
  readonly change?: string;
  readonly dryRun: boolean;
  readonly results: readonly ChangeResult[];
}

export interface ListedEntry {
  /** Path relative to the listed folder. */
  readonly path: string;
  readonly kind: FileKind;
  readonly sizeBytes?: number;
  readonly mtimeMs?: number;
  /** Target of a link, as written in the link. */
  readonly target?: string;
}

export interface ListResult {
  readonly path: string;
  /** Canonical path of the folder. */
  readonly absolute?: string;
  readonly entries: readonly ListedEntry[];
  /**
   * Number of entries that neither this page nor an earlier one shows. Undefined if they were not
   * counted.
   */
  readonly cut: number | undefined;
  /** True if this page and earlier ones showed every entry. */
  readonly complete: boolean;
  /** True if another page follows. */
  readonly more: boolean;
}

/** Stat data of a path, with links followed. */
export interface InfoResult {
  readonly path: string;
  /** Canonical path. */
  readonly absolute: string;
  readonly kind: FileKind;
  readonly sizeBytes: number;
  readonly createdMs: number;
  readonly modifiedMs: number;
  readonly accessedMs: number;
  /** Permission bits. */
  readonly mode: number;
}

export interface FindResult {
  readonly paths: readonly string[];
  /** True if there may be more files. */
  readonly truncated: boolean;
  /** Present if the only reason for `truncated` is that some files or folders could not be read. */
  readonly unreadable?: true;
}

export interface SearchResult {
  readonly mode: 'lines' | 'files' | 'count';
  readonly hits: readonly (MatchPlace & {
    readonly path: string;
    readonly context?: boolean;
    readonly count?: number;
  })[];
  /** True if there may be more matches. */
  readonly truncated: boolean;
  /** Present if the only reason for `truncated` is that some files or folders could not be read. */
  readonly unreadable?: true;
  readonly matches: number;
}

type Freshness = 'unseen' | 'fresh' | 'stale' | 'deleted' | 'missing' | 'unverifiable';

export interface FileStatus {
  readonly path: string;
  readonly freshness: Freshness;
  /** The lines of the file that the session has seen. `whole`: every line, as the file is now. */
  readonly seen: 'nothing' | 'some' | 'whole';
  /**
   * Restricts `seen`. `cut`: only the beginnings of very long lines were shown. `redacted`: secrets
   * were masked. `described`: the content was described, not shown.
   */
  readonly but?: 'cut' | 'redacted' | 'described';
  readonly ranges?: readonly LineRange[];
  readonly totalLines?: number;
  readonly seenAtMs?: number;
  readonly how?: string;
  readonly revision?: string;
  readonly lastChange?: { readonly change: string; readonly session: string; readonly atMs: number };
}

export interface StatusResult {
  readonly files: readonly FileStatus[];
}

/**
 * The result of an undo for one file. `kept`: the undo left a folder in place because another
 * program has put files into it.
 */
export interface UndoneFile {
  readonly path: string;
  readonly did: 'restored' | 'removed' | 'recreated' | 'moved-back' | 'merged' | 'kept';
}

export interface UndoResult {
  /**
   * Id of the undo itself, which can be undone too. Undefined for a preview, and if no file had to
   * be changed.
   */
  readonly change?: string;
  readonly undid: readonly string[];
  readonly files: readonly UndoneFile[];
  readonly diff?: string;
  /** Paths that a partial undo left as they are, because it could not restore them. Absent if there are none. */
  readonly left?: readonly LeftFile[];
}

/** A path that an undo cannot restore, and why. */
interface LeftFile {
  readonly path: string;
  readonly code: RefusalCode;
  readonly reason: string;
}

/** The effect of a command on one path. */
interface CommandFile {
  /** The path, relative to the root. */
  readonly path: string;
  readonly did: 'created' | 'changed' | 'deleted' | 'permissions';
  readonly kind: 'file' | 'directory' | 'link';
  /** Number of added lines; absent for content that is not text. */
  readonly added?: number;
  readonly removed?: number;
  /** The complete diff, for small changes only; its lines count as seen. */
  readonly diff?: string;
}

/** The output of a command, bounded. */
interface CommandOutput {
  /** The whole output, or its beginning. */
  readonly head: string;
  /** The end of the output; absent if `head` is the whole output. */
  readonly tail?: string;
  readonly bytes: number;
  /** Number of bytes omitted between head and tail. */
  readonly cutBytes: number;
  /** Path where this session can read the whole output; absent if nothing was cut. */
  readonly path?: string;
}

/** The result of a command that ran. */
export interface RunResult {
  /** Absent if the command was stopped. */
  readonly exitCode?: number;
  /** The reason why the command was stopped. A stopped command changes nothing. */
  readonly ended?: 'timeout' | 'cancelled';
  readonly output: CommandOutput;
  /** Id of the change in the journal; absent if nothing was changed or committed. */
  readonly change?: string;
  /** False if the command's writes were discarded; `files` then lists what it would have changed. */
  readonly committed: boolean;
  /** The changed paths, up to a limit. */
  readonly files: readonly CommandFile[];
  /** Number of changed paths not listed in `files`. */
  readonly cut: number;
  /**
   * Folders in which the command worked in place, not on a copy. Changes there are not journalled
   * and cannot be undone.
   */
  readonly scratch: readonly string[];
  /** Paths where a concurrent change of another program was merged. */
  readonly merged: readonly string[];
  /** FIFOs and sockets that were not committed. */
  readonly leftOut: readonly string[];
  /** Files committed without their setuid or setgid bit. */
  readonly droppedBits: readonly string[];
  /** The command lines of processes that the command left running. They were ended with it. */
  readonly endedProcesses: readonly string[];
  /**
   * The things that the command removed and that exist nowhere else. Empty if it removed nothing of
   * that kind.
   */
  readonly notices: readonly Notice[];
}

/** A file as the session saw it, and as it is now. */
export interface StalenessResult {
  readonly stale: boolean;
  readonly reason: string;
  /** Absent if the session has not seen the file, or only pages of a huge one. */
  readonly seen?: FileState & { readonly at: number };
  /** Absent if the session has not seen the file, or if it cannot be read now. */
  readonly now?: FileState;
}

/** The file or folder that a path leads to. */
export interface ResolveResult {
  /** Canonical path: absolute and without links. */
  readonly absolute: string;
  readonly exists: boolean;
}

/** Something that another program did and reports to the session. */
export type WitnessEvent =
  | {
      readonly kind: 'read';
      readonly path: string;
      readonly ranges?: readonly LineRange[] | undefined;
      readonly redacted?: boolean | undefined;
      readonly clamped?: boolean | undefined;
      readonly content?: string | undefined;
    }
  | {
      readonly kind: 'write';
      readonly path: string;
      readonly content?: string | Uint8Array | undefined;
      readonly change?: string | undefined;
    }
  | { readonly kind: 'delete'; readonly path: string; readonly change?: string | undefined }
  | {
      readonly kind: 'move';
      readonly source: string;
      readonly destination: string;
      readonly change?: string | undefined;
    }
  | { readonly kind: 'command'; readonly command: string };
