import type { Coverage, LineRange } from './coverage.ts';
import type { Delta, NamedPath } from './delta.ts';
import type { Fingerprint } from './fingerprint.ts';
import type { Notice } from './results.ts';
import type { ShownAs } from './sighting.ts';
import type { GitPosition, TurnMark } from './turn.ts';
import type { Action, NextStep, RefusalCode } from './verdict.ts';

export type EntryKind = NewEntry['kind'];

/** Every kind of journal entry. Used to check the kinds that users ask for. */
export const ENTRY_KINDS: Readonly<Record<EntryKind, true>> = {
  read: true,
  look: true,
  change: true,
  refusal: true,
  notice: true,
  session: true,
  bypass: true,
  turn: true,
  grant: true,
  unjudged: true,
};

/** The fields that entries of several kinds have. An entry never holds file contents. */
interface EntryBase {
  readonly atMs: number;
  readonly session: string;
  /** The turn in which this entry was written. On an entry of kind `turn`: the turn that begins here. */
  readonly turn?: string;
  /** Canonical root of the workspace. */
  readonly root: string;
  readonly action?: Action;
  /** The path, relative to the root. */
  readonly path?: string;
  /**
   * Canonical path of the file, if it differs from root and path joined (on file systems that
   * ignore case).
   */
  readonly key?: string;
  /** Id of the change that the entry records or is about. */
  readonly change?: string;
  /**
   * A sentence for users: a notice, a session event, or the reason of a bypass. On an entry of kind `look`: how much
   * was shown.
   */
  readonly text?: string;
  /**
   * The machine that wrote this entry. Absent if this machine wrote it, and in a store that
   * machines do not share.
   */
  readonly machine?: string;
}

interface NewReadEntry extends EntryBase {
  readonly kind: 'read';
  /** The lines shown, as `1-20,40-60`, or `whole`. */
  readonly lines?: string;
  /** Set if lines were cut, secrets were masked, or the file was only described. */
  readonly shown?: readonly ShownAs[];
  /** Number of lines of the file, if they were counted. */
  readonly totalLines?: number;
  /** Hash of the bytes read. */
  readonly sha256?: string;
}

/** A change of files; a batch is one entry with many deltas. */
export interface NewChangeEntry extends EntryBase {
  readonly kind: 'change';
  readonly change: string;
  readonly deltas: readonly Delta[];
  /** Size of the diff that the session got because the file had changed since the session saw it. */
  readonly diffBytes?: number;
  /** Kinds of the notices that the session got. */
  readonly notices?: readonly Notice['kind'][];
  /** Id of the change that this one undoes; the newest if it undoes several. */
  readonly undoes?: string;
  /** Everything that this undo reverted, if `undoes` alone does not describe it. */
  readonly undone?: Undone;
  /** The part of a change that this one undoes. The rest of that change remains in place. */
  readonly undoesPart?: UndonePart;
  /** On a change made by a rewind: the turn to which it returned. */
  readonly rewindTo?: string;
  /** The host's own id of the call that made the change. */
  readonly call?: string;
  /** On the change of a shell command: why it may have changed files that this entry does not name. */
  readonly uncovered?: string;
  /**
   * True if no program reported the end of the change, for example because its process died.
   * Lookfirst recorded the change later, from the state on disk.
   */
  readonly recovered?: boolean;
}

interface NewRefusalEntry extends EntryBase {
  readonly kind: 'refusal';
  readonly code: RefusalCode;
  /** Hash of the bytes on disk. */
  readonly sha256?: string;
  /** Size of the file on disk. */
  readonly sizeBytes?: number;
  /** How much of the file the session had seen; absent if nothing. */
  readonly seen?: SeenFile;
  /**
   * Hash of the refused content (a write), of the refused edits as JSON, or of a command line with what it would
   * destroy.
   */
  readonly content?: string;
  /** Present if the policy observes and enforces nothing, so that the call passed. */
  readonly observed?: true;
  /** The next step that it recommended. */
  readonly next?: NextStep;
  /** Size of the diff that the session got because the file had changed since the session saw it. */
  readonly diffBytes?: number;
  /** The host's own id of the call that was refused. */
  readonly call?: string;
}

interface NewNoticeEntry extends EntryBase {
  readonly kind: 'notice';
  /** Hash of the bytes on disk that the notice is about. */
  readonly sha256?: string;
  /** Kinds of the notices that the session got. */
  readonly notices?: readonly Notice['kind'][];
  /** A command was expected to run on a private view of the workspace (layer), and did not. */
  readonly layer?: 'missed';
  /**
   * On a notice about things that a command removed. `caused`: the session's command removed them.
   * `suffered`: another session's command removed this session's work. `told`: the session has got
   * all notices about its own work until now.
   */
  readonly loss?: 'caused' | 'suffered' | 'told';
}

interface NewSessionEntry extends EntryBase {
  readonly kind: 'session';
  readonly event?: SessionEvent;
  /** On the entry that opens a session: the program that the session belongs to. */
  readonly client?: string;
}

interface NewTurnEntry extends EntryBase, TurnMark {
  readonly kind: 'turn';
  readonly turn: string;
  /** The git branch, commit and index when the turn began. */
  readonly git?: GitPosition;
}

interface GrantFields {
  /** The permission that the operator gave or revoked, or the one that was used. */
  readonly grant?: Grant;
}

/** One line of the journal, before the store adds its number and hash. */
export type NewEntry =
  | NewReadEntry
  | NewChangeEntry
  | NewRefusalEntry
  | NewNoticeEntry
  | NewSessionEntry
  | NewTurnEntry
  /** The operator gave or revoked a permission. */
  | (EntryBase & GrantFields & { readonly kind: 'grant' })
  /** A permission was used. */
  | (EntryBase & GrantFields & { readonly kind: 'bypass' })
  /** A listing or search was shown. */
  | (EntryBase & {
      readonly kind: 'look';
      /** Hash of the shown text. */
      readonly sha256?: string;
    })
  /**
   * A host's tool call that passed without a check: the hooks were off or not trusted, or they
   * failed and let calls pass.
   */
  | (EntryBase & {
      readonly kind: 'unjudged';
      /** The host's own id of the call. */
      readonly call?: string;
    });

/** The number and the hash of an entry: `hash` covers the entry and the previous entry's hash. */
interface Link {
  readonly seq: number;
  readonly hash: string;
}

/** One line of the journal with its number and hash. */
export type Entry = NewEntry & Link;

/** The deltas of an entry: none if it is no change. */
export function deltasOf(entry: NewEntry | undefined): readonly Delta[] {
  return entry?.kind === 'change' ? entry.deltas : [];
}

/** True for a change. */
export function isChange(entry: Entry): entry is ChangeEntry {
  return entry.kind === 'change';
}

/** A change in the journal. */
export type ChangeEntry = EntryOf<'change'>;

/** A journal entry of some kinds. */
export type EntryOf<K extends EntryKind> = Extract<NewEntry, { readonly kind: K }> & Link;

/**
 * An event of a session. `continued`: another process, or a user's next command, continues it.
 * `turn-ended` and `forgotten` also end its claims. `imported`: files of a transcript count as
 * seen.
 */
type SessionEvent =
  | 'opened'
  | 'continued'
  | 'resumed'
  | 'imported'
  | 'compacted'
  | 'rewound'
  | 'turn-ended'
  | 'forgotten'
  | 'expired';

/** The operator's permission to change a path that the session has not read. */
interface Grant {
  readonly id: string;
  /** Limits the permission to this session. */
  readonly session?: string;
  readonly once?: true;
  /** The permission ends at this time. */
  readonly untilMs?: number;
  readonly revoked?: true;
}

/** The changes that one undo reverted. */
export interface Undone {
  /** Ids of changes, newest first. */
  readonly changes: readonly string[];
  /** Canonical paths of the reverted files; absent if the undo reverted every file of these changes. */
  readonly keys?: readonly string[];
}

/** Lines of one file that a partial undo reverted. */
interface UndonePart {
  readonly change: string;
  /**
   * Line numbers as they were after the change that was undone. `to` < `from` means that the change
   * only removed lines at this position.
   */
  readonly lines: LineRange;
}

/** The part of a file that a session had seen at the time of a refusal. */
interface SeenFile {
  /** Absent if the session saw only pages of a huge file. */
  readonly fingerprint?: Fingerprint;
  /**
   * The seen lines, in the format of a read's `lines`. `none` if no line counts as seen any more,
   * for example because the session's context was summarised.
   */
  readonly lines: string;
  readonly atMs: number;
}

/** The session of changes that a user makes on the command line. Each command is a process that opens and closes it. */
export const COMMAND_LINE = 'command-line';

/**
 * A change that was announced and whose end is not recorded yet. If its process died, a later start
 * of Lookfirst must record it.
 */
export interface PendingChange {
  readonly change: string;
  readonly entry: NewChangeEntry;
  /** The announcing process, identified by pid and start time. */
  readonly owner: string;
  /**
   * Keys (canonical paths) of the files that the process has locked; absent if there are none. A
   * process that gets one of these locks knows that the owner is dead.
   */
  readonly locked?: readonly string[];
  /**
   * Set if another program makes the change. Holds the facts, besides the deltas, that are needed
   * to record the result.
   */
  readonly host?: HostAnnouncement;
}

/**
 * A change that another program makes. The deltas in `PendingChange.entry` hold the state before
 * the change and the fingerprint of the expected bytes.
 */
interface HostAnnouncement {
  /**
   * `lock`: the announcing process holds the file locks until the change has ended. `none`: it
   * holds none, and other writers wait at most two seconds for the end of the change.
   */
  readonly hold: 'lock' | 'none';
  /** The caller's id of the call, unique within its session. */
  readonly call?: string;
  /** Hash of the announced changes, to recognise a repeated event of the same call. */
  readonly intents?: string;
  /** The files whose text changes. */
  readonly writes: readonly HostWrite[];
  /** Present if a shell command makes the change. It may change files that the deltas do not name. */
  readonly command?: AnnouncedCommand;
  /** Notices that the caller shows once the change has ended. */
  readonly untold?: readonly Notice[];
  /**
   * Journal entries about exemptions (bypass rules) that the change used. They are written when the
   * change has ended.
   */
  readonly bypasses: readonly NewEntry[];
}

/** State saved before a host runs a shell command. */
interface AnnouncedCommand {
  /** The state of each git work tree. */
  readonly snapshots: readonly TreeSnapshot[];
  /**
   * The reason why changes of files that the session has not seen may go unnoticed. Absent if there
   * is no such reason.
   */
  readonly uncovered?: string;
  /**
   * Device and inode numbers (`DEV:INO`) of the stored files that the command line moves. They show
   * which new file is one of these files.
   */
  readonly movable?: readonly string[];
  /** Folders that the command line moves. Their contents are not stored. */
  readonly folders?: readonly MovableFolder[];
  /** Folders whose entries the deltas list completely. Other entries are new after the command. */
  readonly trees?: readonly WholeTree[];
  readonly layer?: LayerExpectation;
  /**
   * Set if the command runs on an overlay layer. Its changes are recorded when the layer is
   * committed.
   */
  readonly onLayer?: true;
}

/** A folder of which a snapshot keeps every entry. */
export interface WholeTree {
  readonly folder: string;
  /**
   * `all`: every entry. `own`: for a git folder, its references, logs, index and settings, but no
   * objects: git adds objects and removes none that are in use.
   */
  readonly entries: 'all' | 'own';
}

/** A folder before a command. `inode`: its device and inode number, as in `movable`. */
export interface MovableFolder extends NamedPath {
  readonly inode: string;
}

/**
 * Says if `lookfirst-shell` will run the command on an overlay layer, which hides the command's
 * writes until it ends. `expected`: yes, so only seen files were saved before the command. `never`:
 * no, because the command leaves processes running. `background`: no, because the client runs it in
 * the background; `lookfirst-shell` then records its changes when it ends. `possible`: not known.
 */
export type LayerExpectation = 'expected' | 'possible' | 'never' | 'background';

/**
 * The state of a git work tree before a command. The paths in `loose` and `uncovered` are relative
 * to `root`.
 */
export interface TreeSnapshot {
  readonly root: string;
  /** A private copy of git's index. An index names the blob of every tracked file. */
  readonly index: string;
  /** Set if the root is another worktree of the repository: the git folder that they share. */
  readonly shared?: string;
  /** Set if the root is in no git repository: an empty repository in the state folder, used instead. */
  readonly repository?: string;
  /**
   * Untracked files, and tracked files that differ from their blob. The announced deltas list
   * them, and the store keeps their bytes.
   */
  readonly loose: readonly string[];
  /**
   * Tracked files whose bytes cannot be derived from their blob, because git has converted them, for
   * example mixed line endings. The announced deltas list them, as far as the limits allow.
   */
  readonly converted: readonly string[];
  /** Nested repositories and submodules, which the snapshot does not cover. */
  readonly uncovered: readonly string[];
  /** When the snapshot was taken. */
  readonly atMs: number;
}

/**
 * A file, and the part of its new text that the caller supplied: all of it (`whole`), some lines
 * (`parts`) or nothing (`unknown`). `command`: a shell command may write the file, and the session
 * has not seen the text that the command writes.
 */
export interface HostWrite {
  readonly key: string;
  readonly text: 'whole' | 'parts' | 'unknown' | 'command';
  /** The lines of the announced bytes that the session knows, its own new ones among them. */
  readonly known?: Coverage | undefined;
}
