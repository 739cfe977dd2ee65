import type { ToldClaim } from './claim.ts';
import type { LineRange } from './coverage.ts';
import type { FileKind } from './path.ts';
import type { FileState, MatchPlace } from './verdict.ts';

/** Something the caller should know although the operation went through. Sentences come from `report/`. */
export type Notice =
  | {
      readonly kind: 'changed-elsewhere';
      readonly diff: string;
      readonly truncated: boolean;
      readonly writer?: string;
    }
  | { readonly kind: 'unseen-lines'; readonly ranges: readonly LineRange[] }
  /** Appended to a file that this session has not seen as it is. */
  | { readonly kind: 'unseen-append' }
  | { readonly kind: 'match-tier'; readonly tier: MatchTier }
  | { readonly kind: 'quotes-straightened'; readonly count: number }
  | { readonly kind: 'hard-links-broken'; readonly count: number }
  | { readonly kind: 'mode-bits-dropped'; readonly bits: string }
  | { readonly kind: 'owner-changed' }
  | { readonly kind: 'xattrs-lost' }
  | { readonly kind: 'stale-warning'; readonly text: string }
  /** Another program has written the file with other line endings, or without its byte order mark. */
  | { readonly kind: 'form-changed'; readonly path: string; readonly what: string }
  | { readonly kind: 'late-write'; readonly path: string; readonly retained: string }
  /** Another program saved in the moment of writing; `kept`: copies of what it wrote, whether or not it is in place now. */
  | { readonly kind: 'met-save'; readonly path: string; readonly kept: readonly string[] }
  | { readonly kind: 'changed-seen-files'; readonly paths: readonly string[]; readonly cut: number }
  | { readonly kind: 'bypassed'; readonly glob: string; readonly grant?: string }
  | { readonly kind: 'not-recorded' }
  /** The store failed, so what was shown does not count as seen. */
  | { readonly kind: 'not-noted' }
  /** Another session changed the file between the announcement of a change and its end. */
  | { readonly kind: 'overtaken'; readonly path: string; readonly change: string; readonly session: string }
  /** Something brought earlier bytes of the file back, which this session had seen. */
  | { readonly kind: 'came-back' }
  /** A command dropped another writer's change to a file that the session knew without it. `change` takes it back. */
  | { readonly kind: 'lost-change'; readonly path: string; readonly change: string; readonly diff: string }
  /** Other sessions work on the file: one notice for a file and turn. */
  | { readonly kind: 'claimed'; readonly path: string; readonly claims: readonly ToldClaim[] }
  /** Other sessions work in this workspace, told at the beginning of a turn. `cut`: claims that are not named. */
  | { readonly kind: 'others-at-work'; readonly claims: readonly ToldClaim[]; readonly cut: number }
  /** A file was written in another worktree than the one the agent works in. `meant`: the same file in its own. */
  | { readonly kind: 'other-worktree'; readonly path: string; readonly own: string; readonly meant: string }
  | { readonly kind: 'recreated' };

/** How an anchor was found, strictest first. */
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
  /** As the caller wrote it. */
  readonly path: string;
  /** The lines shown, decoded, with `\n` between them and no line numbers; long lines clamped. */
  readonly text: string;
  /**
   * The lines shown as they stand in the file, with their endings, if they are UTF-8 and none is clamped. Not to be changed:
   * later diffs begin with these very bytes.
   */
  readonly bytes?: Uint8Array;
  /** First and last line shown, 1-based; 0 and 0 for an empty file. */
  readonly from: number;
  readonly to: number;
  /** Undefined only for pages of a huge file whose end was not reached. */
  readonly totalLines: number | undefined;
  readonly sizeBytes: number;
  /** The session has now seen the whole file, as it is on disk. */
  readonly complete: boolean;
  /** Only when complete. */
  readonly revision?: string;
  readonly encoding: string;
  /** Lines of which only the beginning is shown. */
  readonly clamped: readonly number[];
  /** Not text: what it is, and its bytes when they can be shown as media. */
  readonly media?: { readonly mimeType: string; readonly base64?: string };
  readonly notices?: readonly Notice[];
}

export interface ChangeResult {
  readonly path: string;
  /** Journal id. Undefined when nothing changed. */
  readonly change?: string;
  readonly changed: boolean;
  readonly created: boolean;
  readonly sizeBytes: number;
  /** Only when the session has seen the whole file as it is now. */
  readonly revision?: string;
  /** Occurrences replaced, for edits. */
  readonly replaced?: number;
  /** How the text of an edit was found, if not exactly. */
  readonly tier?: MatchTier;
  /** Lines inserted, for inserts. */
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
  /** Relative to the listed folder. */
  readonly path: string;
  readonly kind: FileKind;
  readonly sizeBytes?: number;
  readonly mtimeMs?: number;
  /** Where a link points, as written. */
  readonly target?: string;
}

export interface ListResult {
  readonly path: string;
  /** Canonical path of the folder. */
  readonly absolute?: string;
  readonly entries: readonly ListedEntry[];
  /** Entries that exist and are not shown, those before `after` not counted; undefined when they were not counted. */
  readonly cut: number | undefined;
  /** Everything was shown, by this page and earlier ones. */
  readonly complete: boolean;
  /** Another page follows. */
  readonly more: boolean;
}

/** What the file system says about a path, links followed. */
export interface InfoResult {
  readonly path: string;
  /** Canonical. */
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
  readonly truncated: boolean;
}

export interface SearchResult {
  readonly mode: 'lines' | 'files' | 'count';
  readonly hits: readonly (MatchPlace & {
    readonly path: string;
    readonly context?: boolean;
    readonly count?: number;
  })[];
  readonly truncated: boolean;
  readonly matches: number;
}

export type Freshness = 'unseen' | 'fresh' | 'stale' | 'deleted' | 'missing' | 'unverifiable';

export interface FileStatus {
  readonly path: string;
  readonly freshness: Freshness;
  /** `whole`: every line as it is. */
  readonly seen: 'nothing' | 'some' | 'whole';
  /** Of what was seen, only the beginnings of very long lines; without what was blanked out; described, not shown. */
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

/** `kept`: a folder that was to go, and in which someone has put something since. */
export interface UndoneFile {
  readonly path: string;
  readonly did: 'restored' | 'removed' | 'recreated' | 'moved-back' | 'merged' | 'kept';
}

export interface UndoResult {
  /** The undo's own change; it can be undone too. Undefined for a preview. */
  readonly change?: string;
  readonly undid: readonly string[];
  readonly files: readonly UndoneFile[];
  readonly diff?: string;
}

/** What a command did to one path. */
export interface CommandFile {
  /** Relative to the root. */
  readonly path: string;
  readonly did: 'created' | 'changed' | 'deleted' | 'permissions';
  readonly kind: 'file' | 'directory' | 'link';
  /** Lines; absent for anything but text. */
  readonly added?: number;
  readonly removed?: number;
  /** The whole change; only small ones have it, and what it shows counts as seen. */
  readonly diff?: string;
}

/** What a command printed, bounded. */
export interface CommandOutput {
  /** All of it, or its beginning. */
  readonly head: string;
  /** Its end; absent if `head` is all of it. */
  readonly tail?: string;
  readonly bytes: number;
  /** Bytes between head and tail. */
  readonly cutBytes: number;
  /** The path under which this session can read all of it; absent if nothing was cut. */
  readonly path?: string;
}

/** A command that ran. */
export interface RunResult {
  /** Absent if the command was ended. */
  readonly exitCode?: number;
  /** Why the command was ended; then it changed nothing. */
  readonly ended?: 'timeout' | 'cancelled';
  readonly output: CommandOutput;
  /** Journal id; absent if nothing changed or nothing was committed. */
  readonly change?: string;
  /** False: what the command did was thrown away, and `files` says what it would have changed. */
  readonly committed: boolean;
  /** The changed paths, bounded. */
  readonly files: readonly CommandFile[];
  /** Changed paths that are not among `files`. */
  readonly cut: number;
  /** Folders that the command used directly; what it changed there is neither journalled nor undone. */
  readonly scratch: readonly string[];
  /** Paths in which another program's change of the same time was merged. */
  readonly merged: readonly string[];
  /** FIFOs and sockets that were not taken over. */
  readonly leftOut: readonly string[];
  /** Files whose setuid or setgid bit was not taken over. */
  readonly droppedBits: readonly string[];
}

/** A file as a session saw it and as it is now. */
export interface StalenessResult {
  readonly stale: boolean;
  readonly reason: string;
  /** Absent if the session has not seen the file, or only pages of a huge one. */
  readonly seen?: FileState & { readonly at: number };
  /** Absent if the session has not seen the file, or if it cannot be read now. */
  readonly now?: FileState;
}

/** Where a path leads. */
export interface ResolveResult {
  /** Canonical: absolute, and without links. */
  readonly absolute: string;
  readonly exists: boolean;
}

/** What someone else did, told to the gate. */
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
