import type { ClaimMark } from './claim.ts';
import type { LineRange } from './coverage.ts';
import type { Fingerprint } from './fingerprint.ts';
import type { Notice } from './results.ts';
import type { GitPosition, TurnMark } from './turn.ts';
import type { Action, NextStep, RefusalCode } from './verdict.ts';

export type EntryKind =
  | 'read'
  | 'look'
  | 'change'
  | 'refusal'
  | 'notice'
  | 'session'
  | 'bypass'
  | 'turn'
  | 'grant'
  /** A call of a host that passed without being judged: its hooks were off, not trusted, or failed open. */
  | 'unjudged'
  | 'claim';

/** One file's state on one side of a change, enough to bring it back. */
export type Side =
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'file';
      readonly fingerprint: Fingerprint;
      /** Permission bits (without file type). */
      readonly mode: number;
      /** True when the bytes are among the images; a `before` without them cannot be undone and says so. */
      readonly kept: boolean;
    }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'directory'; readonly mode: number };

/** What one change did to one path. A move is two effects; a batch or a recursive delete is many. */
export interface Effect {
  /** Canonical absolute path. */
  readonly key: string;
  /** Relative to the root. */
  readonly relative: string;
  readonly before: Side;
  readonly after: Side;
  /** Where the thing went (a key), on the source of a move. A moved folder's content is not listed and goes with it. */
  readonly movedTo?: string;
}

/** One line of the journal, before the store numbers and chains it. No file contents, ever. */
export interface NewEntry extends Partial<TurnMark> {
  readonly kind: EntryKind;
  readonly atMs: number;
  readonly session: string;
  /** The turn in which it happened. On an entry of kind `turn`: the turn that begins here, with label and prompt. */
  readonly turn?: string;
  /** Canonical root of the workspace. */
  readonly root: string;
  readonly action?: Action;
  /** Relative to the root. */
  readonly path?: string;
  /** Key of `path`, where it is not simply root and path joined (file systems that ignore case). */
  readonly key?: string;
  /** Id of the change, for `change` entries; a batch is one entry with many effects. */
  readonly change?: string;
  readonly effects?: readonly Effect[];
  readonly code?: RefusalCode;
  /** A sentence for people: a notice, a session event, a bypass's reason; on an entry of kind `look`, how much was shown. */
  readonly text?: string;
  /** Lines shown by a read, as `1-20,40-60`, or `whole`. */
  readonly lines?: string;
  /** Number of lines of the file that was read, if it was counted. */
  readonly totalLines?: number;
  /** Hash of the bytes of a read. On a refusal: of the bytes that were there. */
  readonly sha256?: string;
  /** On a refusal: the size of the bytes that were there. */
  readonly sizeBytes?: number;
  /** On a refusal: what the session had seen of the file; absent: nothing. */
  readonly seen?: SeenFile;
  /** On a refusal: hash of the refused content (a write), or of the refused edits as JSON. */
  readonly content?: string;
  /** On a refusal: the call passed all the same, because the policy only observes. */
  readonly observed?: true;
  /** On a refusal: the next step that it named. */
  readonly next?: NextStep;
  /** On a refusal or a change: size of the diff that showed the session what had changed since it saw the file. */
  readonly diffBytes?: number;
  /** On a change: kinds of the notices that its caller got. */
  readonly notices?: readonly Notice['kind'][];
  /** The change this one took back; the newest when there are several. */
  readonly undoes?: string;
  /** Everything an undo took back, where `undoes` alone does not say it. */
  readonly undone?: Undone;
  /** The part of a change that this one took back. The rest of that change stands. */
  readonly undoesPart?: UndonePart;
  /** The turn to which a rewind returned, on the change that it made. */
  readonly rewindTo?: string;
  /** On an entry of kind `grant`: the leave that the operator gave or revoked. On one of kind `bypass`: the leave that was used. */
  readonly grant?: Grant;
  /** On an entry of kind `turn`: where git was. */
  readonly git?: GitPosition;
  /** The host's own id of the call that made the change. */
  readonly call?: string;
  /** On the change of a shell command: why it may have changed files that this entry does not name. */
  readonly uncovered?: string;
  /** The machine on which it happened; absent: this one. Only entries of a fleet store have it. */
  readonly machine?: string;
  /** On an entry of kind `claim`: what was claimed or released. On one of kind `notice`: the claim that the session was told of. */
  readonly claim?: ClaimMark;
  /** On the entry that opens a session: the program that it belongs to. */
  readonly client?: string;
  /** True when a later start found the change done and its process dead. */
  readonly recovered?: boolean;
}

/** The operator's leave to change a path without having read it. */
export interface Grant {
  readonly id: string;
  /** Only for this session. */
  readonly session?: string;
  readonly once?: true;
  readonly revoked?: true;
}

/** What one undo took back. */
export interface Undone {
  /** Ids of changes, newest first. */
  readonly changes: readonly string[];
  /** Only these keys of them; absent: all they did. */
  readonly keys?: readonly string[];
}

/** Lines of one file that a partial undo took back. */
export interface UndonePart {
  readonly change: string;
  /** The lines as they were numbered after that change; `to` before `from`: the change had only removed lines there. */
  readonly lines: LineRange;
}

/** What a session had seen of a file when it was refused. */
export interface SeenFile {
  /** Absent for pages of a huge file. */
  readonly fingerprint?: Fingerprint;
  /** As in `lines`; `none`: its context was summarised since. */
  readonly lines: string;
  readonly atMs: number;
}

/** A chained line: `hash` covers the entry and the hash before it. */
export interface Entry extends NewEntry {
  readonly seq: number;
  readonly hash: string;
}

/** A change that was announced and not yet settled: what a later start must look at if its process died. */
export interface PendingChange {
  readonly change: string;
  readonly entry: NewEntry;
  /** Who announced it: pid and start time of the process. */
  readonly owner: string;
  /** The keys its process has locked: whoever has one of them now knows that its process is gone. Absent: none. */
  readonly locked?: readonly string[];
  /** Present: another program makes the change. Whoever settles it finds here what the effects do not say. */
  readonly foreign?: ForeignAnnouncement;
}

/** A change that another program makes. The entry's effects say what was there, and which bytes are expected. */
interface ForeignAnnouncement {
  /** `lock`: the announcing process holds the locks of the files until it settles. `none`: nobody waits for it. */
  readonly hold: 'lock' | 'none';
  /** The caller's own id of the call, unique within its session. */
  readonly call?: string;
  /** The files whose text changes. */
  readonly writes: readonly ForeignWrite[];
  /** Present: a shell command makes the change, and may change other files than the effects name. */
  readonly command?: AnnouncedCommand;
  /** Notices that the caller shows once the change is settled. */
  readonly untold?: readonly Notice[];
  /** Entries about the operator's bypass, written when the change is settled. */
  readonly bypasses: readonly NewEntry[];
}

/** What was kept of the files before a shell command of a host. */
export interface AnnouncedCommand {
  /** The state of git work trees, by root. */
  readonly snapshots: readonly TreeSnapshot[];
  /** Why files that the session has not seen are not covered, if they are not. */
  readonly uncovered?: string;
  readonly layer?: LayerExpectation;
  /** The command runs on a layer, and the commit of that layer records what it changes. */
  readonly onLayer?: true;
}

/**
 * Whether the client's shell prefix is expected to run a command on a layer. `expected`: only seen files were kept before it.
 * `never`: it runs in the background, where a layer would hide its writes. `possible`: nothing is known.
 */
export type LayerExpectation = 'expected' | 'possible' | 'never';

/** The state of a git work tree before a command. Paths are relative to the root. */
export interface TreeSnapshot {
  readonly root: string;
  /** A private copy of the index, which names the blob of every tracked file. */
  readonly index: string;
  /** Tracked files that differed from their blob, and untracked files: the effects have their bytes. */
  readonly loose: readonly string[];
  /** Nested repositories and submodules. */
  readonly uncovered: readonly string[];
  /** When it was taken. */
  readonly atMs: number;
}

/**
 * How much of the new text the caller gave: all of it, that of some lines, or none. `command`: a shell command may write the
 * file, and its caller has seen nothing of what it writes.
 */
export interface ForeignWrite {
  readonly key: string;
  readonly text: 'whole' | 'parts' | 'unknown' | 'command';
}
