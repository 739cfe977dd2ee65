import type { Claim } from './claim.ts';
import type { LayerExpectation } from './entry.ts';
import type { Edit, FileIntent, HostIntent, Intent } from './intent.ts';
import type { CommandWrites } from './policy.ts';
import type {
  ApplyResult,
  ChangeResult,
  FindResult,
  InfoResult,
  ListResult,
  Notice,
  ReadResult,
  ResolveResult,
  RunResult,
  SearchResult,
  StalenessResult,
  StatusResult,
  UndoResult,
  WitnessEvent,
} from './results.ts';
import type { Resumed, ResumeOptions, Transcript } from './transcript.ts';
import type { TurnMark } from './turn.ts';
import type { Action, Outcome } from './verdict.ts';

/** The last argument of the methods that read or change files. Most other methods accept only `signal`. */
export interface CallOptions {
  /**
   * If the signal aborts before the change is committed, nothing is changed and the call rejects
   * with the signal's reason.
   */
  readonly signal?: AbortSignal | undefined;
  /** The folder inside a root where relative paths start. Default: the session's own `cwd`. */
  readonly cwd?: string | undefined;
}

/** One agent's view of a workspace. Library, MCP server, proxy, hooks and command line all use this interface. */
export interface Session {
  readonly id: string;
  /** Canonical roots of the workspace; relative paths start at the first. */
  readonly roots: readonly string[];
  read(path: string, options?: ReadOptions): Promise<Outcome<ReadResult>>;
  /** Reads several files in sequence; the outcomes have the order of the paths. */
  readMany(paths: readonly string[], options?: ReadOptions): Promise<readonly Outcome<ReadResult>[]>;
  write(path: string, content: string | Uint8Array, options?: WriteOptions): Promise<Outcome<ChangeResult>>;
  edit(path: string, edits: readonly Edit[], options?: EditOptions): Promise<Outcome<ChangeResult>>;
  /** Appends lines to a file, or creates it. By default this needs no earlier read. */
  append(path: string, content: string, options?: CallOptions): Promise<Outcome<ChangeResult>>;
  insert(path: string, content: string, options?: InsertOptions): Promise<Outcome<ChangeResult>>;
  apply(changes: readonly FileIntent[], options?: ApplyOptions): Promise<Outcome<ApplyResult>>;
  /** Applies a patch to all of its files or to none. Its hunks are checked like edits. */
  patch(patch: Patch, options?: ApplyOptions): Promise<Outcome<ApplyResult>>;
  delete(path: string, options?: DeleteOptions): Promise<Outcome<ChangeResult>>;
  move(source: string, destination: string, options?: MoveOptions): Promise<Outcome<ChangeResult>>;
  /**
   * Copies one file, which need not have been read. If a file exists at the destination, the rules
   * of a move apply.
   */
  copy(source: string, destination: string, options?: MoveOptions): Promise<Outcome<ChangeResult>>;
  mkdir(path: string, options?: CallOptions): Promise<Outcome<ChangeResult>>;
  list(path?: string, options?: ListOptions): Promise<Outcome<ListResult>>;
  find(pattern: string, options?: FindOptions): Promise<Outcome<FindResult>>;
  search(pattern: string, options?: SearchOptions): Promise<Outcome<SearchResult>>;
  status(path?: string, options?: CallOptions): Promise<Outcome<StatusResult>>;
  /** Stat data of a path, with links followed. Nothing counts as seen. */
  info(path: string, options?: CallOptions): Promise<Outcome<InfoResult>>;
  /** Resolves a path, even if the file does not exist yet. Records nothing. */
  resolve(path: string, options?: CallOptions): Promise<Outcome<ResolveResult>>;
  /** True if this session was shown a part of the file and still has it in its context. */
  hasBeenRead(path: string, options?: CallOptions): Promise<boolean>;
  /** Records that another program showed the model the whole file as it is now. */
  markRead(path: string, options?: CallOptions): Promise<Outcome<{ notices: readonly Notice[] }>>;
  /** Checks whether a file still has the bytes that this session saw. Changes nothing. */
  checkStaleness(path: string, options?: CallOptions): Promise<Outcome<StalenessResult>>;
  undo(selection?: UndoSelection, options?: CallOptions): Promise<Outcome<UndoResult>>;
  /** Runs a command in a sandbox and records everything it changes as one change. */
  run(command: Command, options?: RunOptions): Promise<Outcome<RunResult>>;

  /** Checks whether this session may replace or create the file. Changes nothing. */
  checkWritable(path: string, options?: CallOptions): Promise<Outcome<{ notices: readonly Notice[] }>>;
  /** Checks whether a change would be allowed. Changes nothing. */
  vet(intent: Intent, options?: CallOptions): Promise<Outcome<{ notices: readonly Notice[] }>>;
  /** Checks a change and makes it, under one lock. An earlier `vet` does not replace this check. */
  perform(intent: Intent, options?: CallOptions): Promise<Outcome<ApplyResult>>;
  /**
   * Announces changes that another program will make. Checks them like `perform`, saves the bytes
   * that they would destroy, and stores the announcement. End every announcement with `settle`,
   * from any process of this session.
   */
  announce(
    intents: readonly HostIntent[],
    options?: AnnounceOptions,
  ): Promise<Outcome<{ change: string; notices: readonly Notice[] }>>;
  /**
   * Ends an announced change and records the state on disk. `ending` says whether the other program succeeded, failed,
   * or did not report.
   */
  settle(
    change: string,
    ending: ChangeEnding,
    options?: CallOptions,
  ): Promise<Outcome<{ notices: readonly Notice[] }>>;
  /** Records an event that another program reports. */
  witness(event: WitnessEvent, options?: CallOptions): Promise<Outcome<{ notices: readonly Notice[] }>>;

  /**
   * Begins a turn, usually with the user's next prompt. Later journal entries of this session carry
   * the turn's id, and `lookfirst rewind` can return to it. Naming the current turn again changes
   * nothing.
   */
  beginTurn(mark: TurnMark, options?: SignalOption): Promise<void>;
  /** Marks this moment with a label, as a separate turn. */
  checkpoint(label: string, options?: SignalOption): Promise<{ readonly turn: string }>;
  /** Ends the turn. Other sessions are then no longer told of what this session changed in it. */
  endTurn(options?: SignalOption): Promise<void>;
  /**
   * Which session works on which file: the changes of the last ten minutes whose turn is open, in this
   * workspace and the other worktrees of its repository, newest first.
   */
  claims(options?: SignalOption): Promise<readonly Claim[]>;
  /**
   * Call this after the model's context was summarised. The policy's `compaction` then decides what
   * still counts as seen.
   */
  compacted(options?: SignalOption): Promise<void>;
  /**
   * Call this when a conversation continues after a pause. From then on, a file whose bytes have
   * changed since the session saw them counts as unseen.
   */
  resumed(options?: SignalOption): Promise<void>;
  /** Call this when the conversation was cut back to a moment. Everything seen later no longer counts. */
  rewound(toMs: number, options?: SignalOption): Promise<void>;
  /** Creates a copy of this session, including everything it has seen. */
  fork(id?: string, options?: SignalOption): Promise<Session>;
  /**
   * Creates a sub-agent's session. It starts empty, and what it reads does not count as seen by its
   * parent.
   */
  child(id?: string, options?: SignalOption): Promise<Session>;
  /**
   * Imports from a transcript what the model of that conversation has seen. Only files that still
   * have the shown content may then be changed without a new read.
   */
  resumeFrom(transcript: Transcript, options?: ResumeOptions): Promise<Resumed>;
  /**
   * Exports what this session has seen, as JSON text for another process. Omits files that are too
   * large to hash, which were read only in pages.
   */
  exportSightings(options?: SignalOption): Promise<string>;
  /**
   * Imports the text that `exportSightings` returned. Leaves out files that have other bytes now.
   */
  importSightings(
    text: string,
    options?: SignalOption,
  ): Promise<{ readonly kept: number; readonly dropped: number }>;
  /** Forgets everything this session has seen, and its name if it has one. The journal stays. */
  forget(options?: SignalOption): Promise<void>;
  /** Forgets an unnamed session; keeps a named one for a later resume. */
  close(): Promise<void>;
}

export type SignalOption = Pick<CallOptions, 'signal'>;

export interface AnnounceOptions extends CallOptions {
  /**
   * Default `lock`: sessions that share the state wait for the files until the change has ended.
   * `none`: they wait at most two seconds. If a change with `none` is left unsettled, the next
   * writer of one of its files settles it. After ten minutes, any process may settle it.
   */
  readonly hold?: 'lock' | 'none' | undefined;
  /** Name of the tool that makes the change, for bypass rules that name tools. */
  readonly tool?: string | undefined;
  /**
   * The caller's id of the call. If the same changes are announced again with this id before they
   * are settled, `announce` returns the same change id again. With `hold: 'none'`, they are judged
   * again if one of the files has changed meanwhile.
   */
  readonly call?: string | undefined;
  /**
   * When the caller shows notices to the model. Default `now`: `announce` returns them. `settled`: `settle` returns
   * them, for callers that cannot show anything before the change is made.
   */
  readonly tell?: 'now' | 'settled' | undefined;
}

/**
 * The harm that a shell line may do. `nothing`: it only reads. `git`: besides files, also objects of
 * git, because it prunes them or names `.git`.
 */
export type Harm = 'nothing' | 'files' | 'git';

/** Options for a shell command that the host itself runs. */
export interface CommandOptions extends Pick<AnnounceOptions, 'call'> {
  /** The things that the command may destroy, if the caller has parsed its line. */
  readonly harm?: Harm | undefined;
  /** Files that the command certainly writes, including files that do not exist yet. */
  readonly writes?: readonly string[] | undefined;
  /**
   * Paths of files and links that the command may move. Ignored files are stored too, because git
   * has no copy of them.
   */
  readonly moves?: readonly string[] | undefined;
  /** Files outside the workspace to store too. */
  readonly outside?: OutsidePaths | undefined;
  /** Says if the command will run on an overlay layer. Default `possible`. */
  readonly layer?: LayerExpectation | undefined;
}

/** Paths outside the workspace that a shell line concerns, without links in their folders. */
export interface OutsidePaths {
  /** Those that it certainly deletes or overwrites. `whole`: a folder with everything in it. */
  readonly destroyed: readonly { readonly path: string; readonly whole: boolean }[];
  /** Those that the line moves, or that code in it names, which may only read them. */
  readonly named: readonly string[];
  /** Every path that the line may change, and how. */
  readonly changed: readonly { readonly path: string; readonly action: Action }[];
}

/**
 * Every ending records the state on disk. `done`: text that the caller supplied counts as seen if
 * the file now contains it. `failed`: nothing new counts as seen. `unknown`: like `failed`, and
 * unchanged files must be read again too, because the program may still write them.
 */
export type ChangeEnding = 'done' | 'failed' | 'unknown';

/**
 * A shell command line, a program with arguments, or the stored writes of a command that was
 * refused.
 */
export type Command = string | readonly string[] | KeptCommand;

/**
 * The id of the stored writes of a refused command. Applying these writes overwrites changes that
 * other programs have made to the same files since.
 */
interface KeptCommand {
  readonly kept: string;
}

export interface RunOptions extends CallOptions {
  /**
   * Default `confine`: no network, no capabilities, private /tmp, hidden secrets, limits. `undo`:
   * the workspace is on an overlay layer, so that changes can be undone; nothing else is
   * restricted.
   */
  readonly profile?: 'undo' | 'confine' | undefined;
  /** Network access of a confined command. Default: `judged`, or `seen-only` if the policy is `partial: lines`. */
  readonly network?: 'on' | 'off' | undefined;
  /**
   * Time limit of the command. Default: the policy's limit for a confined command, otherwise none.
   */
  readonly timeoutMs?: number | undefined;
  /** The treatment of the files that the command writes. Default: `judged`, or `seen-only` if the policy is `partial: lines`. */
  readonly writes?: CommandWrites | undefined;
  /**
   * Default `kept`: the result has the output up to a limit, the state folder has all of it. `inherit`: uses this
   * process's stdin and stdout.
   */
  readonly output?: 'kept' | 'inherit' | undefined;
  /**
   * Default `shown`: the caller shows the result to the model, so small diffs count as seen. `silent`: the model
   * sees only the output.
   */
  readonly answer?: 'shown' | 'silent' | undefined;
  /** Name of the command in the journal; default: the command itself. */
  readonly title?: string | undefined;
  /** Called periodically with the number of bytes that the command has printed. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** A patch text that changes one or more files. */
export interface Patch {
  /** `v4a`: `*** Begin Patch` …; `unified`: the format of `git diff`. */
  readonly format: 'v4a' | 'unified';
  readonly text: string;
}

export interface ReadOptions extends CallOptions {
  /** First line to read, 1-based. */
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
  /** Read only the last N lines; cannot be combined with `offset` and `limit`. */
  readonly last?: number | undefined;
  /** A larger file is refused as TOO_LARGE before any of it is shown. */
  readonly maxBytes?: number | undefined;
  /**
   * Default true: the shown lines count as seen. False is for callers that do not show the text to
   * the model: nothing counts as seen, earlier reads are not renewed, and no revision is returned.
   */
  readonly credit?: boolean | undefined;
  /**
   * Always returns `bytes`, and cuts no lines. For a file that is not text, `bytes` is the whole
   * file, and `text` is what can be shown of it, with secrets masked.
   */
  readonly raw?: boolean | undefined;
  readonly onProgress?: ((done: number, total: number | undefined) => void) | undefined;
}

export interface WriteOptions extends CallOptions {
  readonly expectedRevision?: string | undefined;
  /** Default true: creates missing parent folders. False: refuses if one is missing. */
  readonly makeParents?: boolean | undefined;
}

export interface ApplyOptions extends CallOptions {
  /** Only report what would change. */
  readonly dryRun?: boolean | undefined;
}

export interface DeleteOptions extends CallOptions {
  /** Delete a folder with everything in it. */
  readonly recursive?: boolean | undefined;
}

export interface EditOptions extends CallOptions {
  readonly expectedRevision?: string | undefined;
  /** Include a bounded diff of the change in the result. */
  readonly withDiff?: boolean | undefined;
}

export interface MoveOptions extends CallOptions {
  /** Default true: creates missing parent folders. False: refuses if one is missing. */
  readonly makeParents?: boolean | undefined;
  /** Default true: replaces a destination file that the session has seen. False: refuses if anything exists there. */
  readonly overwrite?: boolean | undefined;
}

export interface InsertOptions extends CallOptions {
  /** The line after which the text is inserted. 0 = at the top; absent = append. */
  readonly afterLine?: number | undefined;
  readonly expectedRevision?: string | undefined;
}

export interface ListOptions extends CallOptions {
  /** Default 1: only the folder's direct entries. */
  readonly depth?: number | undefined;
  readonly limit?: number | undefined;
  /**
   * Continue after this name; only with depth 1. Pages that together show all of an unchanged
   * folder count as a full listing.
   */
  readonly after?: string | undefined;
  /**
   * Default `listing`: folders listed in full count as seen. `entries`: for callers that show only
   * some entries; nothing counts as seen, and folders have the size that `stat` reports. `names`:
   * like `entries`, without sizes, times and link targets.
   */
  readonly as?: 'listing' | 'entries' | 'names' | undefined;
  /**
   * Default `all`. `inside`: omits links that point outside the workspace or to nothing; not allowed with `as:
   * 'listing'`. `followed`: a link that points inside the workspace has the size of its target; only
   * with `as: 'entries'`.
   */
  readonly links?: 'all' | 'inside' | 'followed' | undefined;
  /** Called periodically with the number of entries found so far. */
  readonly onProgress?: ((entries: number) => void) | undefined;
}

export interface FindOptions extends CallOptions {
  readonly path?: string | undefined;
  readonly limit?: number | undefined;
  /** Called periodically with the number of files found so far. */
  readonly onProgress?: ((files: number) => void) | undefined;
}

export interface SearchOptions extends CallOptions {
  readonly path?: string | undefined;
  readonly glob?: string | undefined;
  /** Files that match this glob are skipped. */
  readonly exclude?: string | undefined;
  readonly mode?: 'lines' | 'files' | 'count' | undefined;
  readonly context?: number | undefined;
  readonly ignoreCase?: boolean | undefined;
  /** The pattern is plain text, not a regular expression. */
  readonly literal?: boolean | undefined;
  /** A match must not begin or end within a word. */
  readonly wholeWord?: boolean | undefined;
  readonly limit?: number | undefined;
  /** Called periodically with the number of matching files found so far. */
  readonly onProgress?: ((files: number) => void) | undefined;
}

/** Selects the changes to undo. Without a change, path or time: this session's last change. */
export interface UndoSelection {
  readonly change?: string | undefined;
  readonly path?: string | undefined;
  readonly session?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly preview?: boolean | undefined;
  /** Merge the undo with later outside changes instead of refusing. */
  readonly merge?: boolean | undefined;
  /** Leave out paths that cannot be restored, instead of refusing. The result names them. */
  readonly partial?: boolean | undefined;
}
