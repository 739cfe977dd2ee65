import type { Claim, ClaimOptions } from './claim.ts';
import type { LayerExpectation } from './entry.ts';
import type { Edit, FileIntent, ForeignIntent, Intent } from './intent.ts';
import type { CommandPolicy } from './policy.ts';
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
import type { Outcome } from './verdict.ts';

/** Options that every method takes, in its last argument. */
export interface CallOptions {
  /** If it fires before anything is committed, nothing is changed and the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Where relative paths start: a folder inside a root. Default: that of the session. */
  readonly cwd?: string | undefined;
}

/** One agent's view of a workspace: what every door (library, MCP, proxy, hooks, command line) calls. */
export interface Session {
  readonly id: string;
  /** The workspace's roots, canonical; relative paths start at the first. */
  readonly roots: readonly string[];
  read(path: string, options?: ReadOptions): Promise<Outcome<ReadResult>>;
  /** Reads several files, one after the other; the outcomes are in the order of the paths. */
  readMany(paths: readonly string[], options?: ReadOptions): Promise<readonly Outcome<ReadResult>[]>;
  write(path: string, content: string | Uint8Array, options?: WriteOptions): Promise<Outcome<ChangeResult>>;
  edit(path: string, edits: readonly Edit[], options?: EditOptions): Promise<Outcome<ChangeResult>>;
  /** Adds lines at the end of a file, or creates it; by default this needs no read. */
  append(path: string, content: string, options?: CallOptions): Promise<Outcome<ChangeResult>>;
  insert(path: string, content: string, options?: InsertOptions): Promise<Outcome<ChangeResult>>;
  apply(changes: readonly FileIntent[], options?: ApplyOptions): Promise<Outcome<ApplyResult>>;
  /** Applies a patch to all of its files or to none; its hunks are judged like edits. */
  patch(patch: Patch, options?: ApplyOptions): Promise<Outcome<ApplyResult>>;
  delete(path: string, options?: DeleteOptions): Promise<Outcome<ChangeResult>>;
  move(source: string, destination: string, options?: MoveOptions): Promise<Outcome<ChangeResult>>;
  /** Copies one file. The source needs no read; a file at the destination is overwritten as by a move. */
  copy(source: string, destination: string, options?: MoveOptions): Promise<Outcome<ChangeResult>>;
  mkdir(path: string, options?: CallOptions): Promise<Outcome<ChangeResult>>;
  list(path?: string, options?: ListOptions): Promise<Outcome<ListResult>>;
  find(pattern: string, options?: FindOptions): Promise<Outcome<FindResult>>;
  search(pattern: string, options?: SearchOptions): Promise<Outcome<SearchResult>>;
  status(path?: string, options?: CallOptions): Promise<Outcome<StatusResult>>;
  /** What the file system says about a path, links followed. It counts as nothing seen. */
  info(path: string, options?: CallOptions): Promise<Outcome<InfoResult>>;
  /** Where a path leads, also for a file that does not exist yet. Records nothing. */
  resolve(path: string, options?: CallOptions): Promise<Outcome<ResolveResult>>;
  /** Whether this session has been shown anything of a file that is still in its context. */
  hasBeenRead(path: string, options?: CallOptions): Promise<boolean>;
  /** Notes that the model was shown the whole file as it is now, by another program. */
  markRead(path: string, options?: CallOptions): Promise<Outcome<{ notices: readonly Notice[] }>>;
  /** Whether a file still holds the bytes that this session has seen. Changes nothing. */
  checkStaleness(path: string, options?: CallOptions): Promise<Outcome<StalenessResult>>;
  undo(selection?: UndoSelection, options?: CallOptions): Promise<Outcome<UndoResult>>;
  /** Runs a command in a sandbox; what it changes becomes one change. */
  run(command: Command, options?: RunOptions): Promise<Outcome<RunResult>>;

  /** May I? Changes nothing. */
  vet(intent: Intent, options?: CallOptions): Promise<Outcome<{ notices: readonly Notice[] }>>;
  /** Vets again and changes, under one lock. */
  perform(intent: Intent, options?: CallOptions): Promise<Outcome<ApplyResult>>;
  /**
   * Another program is about to make these changes. Judges them like `perform`, keeps the bytes they would destroy, and
   * stores the announcement, so that any process of this session can settle it. End every announcement with `settle`.
   */
  announce(
    intents: readonly ForeignIntent[],
    options?: AnnounceOptions,
  ): Promise<Outcome<{ change: string; notices: readonly Notice[] }>>;
  /** The other program has made an announced change, has failed, or nobody can say. Records what is on disk. */
  settle(
    change: string,
    ending: ChangeEnding,
    options?: CallOptions,
  ): Promise<Outcome<{ notices: readonly Notice[] }>>;
  /** Notes what someone else did. */
  witness(event: WitnessEvent, options?: CallOptions): Promise<Outcome<{ notices: readonly Notice[] }>>;

  /**
   * Begins a turn, usually with the user's next prompt: later entries of this session carry its id, and
   * `lookfirst rewind` can return to this moment. Naming the present turn again changes nothing.
   */
  beginTurn(mark: TurnMark, options?: SignalOption): Promise<void>;
  /** Marks this moment by hand, as a turn of its own. */
  checkpoint(label: string, options?: SignalOption): Promise<{ readonly turn: string }>;
  /** The turn is over: the claims that its changes made end. */
  endTurn(options?: SignalOption): Promise<void>;
  /**
   * Claims a path (a folder with everything in it) or a glob by hand: other sessions are told, or refused if the policy says
   * so. `others`: who is at work there already.
   */
  claim(
    target: string,
    options?: ClaimOptions & SignalOption,
  ): Promise<Outcome<{ readonly claim: string; readonly others: readonly Claim[] }>>;
  /** Ends this session's claims on a path or glob; without one, all of them. */
  release(target?: string, options?: SignalOption): Promise<Outcome<{ readonly released: number }>>;
  /** Who works on what in this workspace and the other worktrees of its repository, newest first. */
  claims(options?: SignalOption): Promise<readonly Claim[]>;
  /** The model's context was summarised. */
  compacted(options?: SignalOption): Promise<void>;
  /** The conversation goes on after a pause: sightings are checked against the disk, false ones dropped. */
  resumed(options?: SignalOption): Promise<void>;
  /** The conversation was cut back to a moment: what was seen later no longer counts. */
  rewound(toMs: number, options?: SignalOption): Promise<void>;
  /** A copy that has seen what this session has seen. */
  fork(id?: string, options?: SignalOption): Promise<Session>;
  /** A sub-agent: starts empty, and what it sees never unlocks its parent. */
  child(id?: string, options?: SignalOption): Promise<Session>;
  /** Takes in what the model of a conversation has seen, from its transcript; only what the disk confirms licenses anything. */
  resumeFrom(transcript: Transcript, options?: ResumeOptions): Promise<Resumed>;
  /** Everything this session has seen, as JSON text for another process. */
  exportSightings(options?: SignalOption): Promise<string>;
  /** Takes in exported sightings that the disk confirms; the others are dropped. */
  importSightings(
    text: string,
    options?: SignalOption,
  ): Promise<{ readonly kept: number; readonly dropped: number }>;
  /** Forgets everything this session has seen; of a named one also its name. The journal stays. */
  forget(options?: SignalOption): Promise<void>;
  /** Forgets an unnamed session; keeps a named one for resume. */
  close(): Promise<void>;
}

export type SignalOption = Pick<CallOptions, 'signal'>;

export interface AnnounceOptions extends CallOptions {
  /**
   * Default `lock`: sessions that share the state wait for the files until the change is settled. `none`: nobody waits. Such
   * an announcement outlives its process; if it is not settled, the next writer of one of its files, or any process after
   * ten minutes, settles it by comparing bytes.
   */
  readonly hold?: 'lock' | 'none' | undefined;
  /** Name of the tool that makes the change, for a bypass that names tools. */
  readonly tool?: string | undefined;
  /** The caller's id of the call. A second announcement with the same id returns the same change. */
  readonly call?: string | undefined;
  /**
   * When the caller shows notices to the model. Default `now`: `announce` returns them. `settled`: `settle` returns them, for
   * callers that can show nothing before the change is made.
   */
  readonly tell?: 'now' | 'settled' | undefined;
}

/** A shell command that a host runs by itself. */
export interface CommandOptions extends Pick<AnnounceOptions, 'call'> {
  /** Files that the command writes for certain, also those that are not there yet. */
  readonly writes?: readonly string[] | undefined;
  /** Default `possible`. */
  readonly layer?: LayerExpectation | undefined;
}

/**
 * `done`: what is on disk is recorded as this change, and the text the caller gave counts as seen, as far as it is there.
 * `failed` and `unknown`: what changed is recorded, and the session has seen nothing new. After `unknown` it must also read
 * files again that are unchanged so far, for the program may yet write them.
 */
export type ChangeEnding = 'done' | 'failed' | 'unknown';

/** A command line for a shell, a program with its arguments, or the kept writes of a command that was refused. */
export type Command = string | readonly string[] | KeptCommand;

/** Writes that a refusal named as kept. Applying them overwrites what other programs changed in the same files meanwhile. */
export interface KeptCommand {
  readonly kept: string;
}

export interface RunOptions extends CallOptions {
  /**
   * Default `confine`: no network, no capabilities, private /tmp, hidden secrets, limits. `undo`: the workspace is layered and
   * everything else is as it is.
   */
  readonly profile?: 'undo' | 'confine' | undefined;
  /** Of a confined command; default: the policy's. */
  readonly network?: 'on' | 'off' | undefined;
  /** Default: the policy's for a confined command, none otherwise. */
  readonly timeoutMs?: number | undefined;
  /** Default: the policy's. */
  readonly writes?: CommandPolicy['writes'] | undefined;
  /** Default `kept`: bounded in the result, whole in the state folder. `inherit`: this process's own input and output. */
  readonly output?: 'kept' | 'inherit' | undefined;
  /** Whether the model is shown the result. Default `shown`: small diffs count as seen. `silent`: it sees only the output. */
  readonly answer?: 'shown' | 'silent' | undefined;
  /** The command as the journal names it; default: the command itself. */
  readonly title?: string | undefined;
  /** Called now and then with the number of bytes that the command has printed. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** Changes of many files as text. */
export interface Patch {
  /** `v4a`: `*** Begin Patch` …; `unified`: as `git diff` writes it. */
  readonly format: 'v4a' | 'unified';
  readonly text: string;
}

export interface ReadOptions extends CallOptions {
  /** First line, 1-based. */
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
  /** The last so many lines; not together with `offset` and `limit`. */
  readonly last?: number | undefined;
  /** A larger file is refused as TOO_LARGE before anything of it is shown. */
  readonly maxBytes?: number | undefined;
  /**
   * Default true: what is shown counts as seen. False: for a caller that looks for itself and shows the model nothing; the
   * read licenses nothing, refreshes nothing and gives no revision.
   */
  readonly credit?: boolean | undefined;
  /** Nothing is clamped, and `bytes` are there whatever the file is: of one that is not text, all of it. */
  readonly raw?: boolean | undefined;
  readonly onProgress?: ((done: number, total: number | undefined) => void) | undefined;
}

export interface WriteOptions extends CallOptions {
  readonly expectedRevision?: string | undefined;
  /** Default true. */
  readonly makeParents?: boolean | undefined;
}

export interface ApplyOptions extends CallOptions {
  /** Only tell what would change. */
  readonly dryRun?: boolean | undefined;
}

export interface DeleteOptions extends CallOptions {
  /** A folder with everything in it. */
  readonly recursive?: boolean | undefined;
}

export interface EditOptions extends CallOptions {
  readonly expectedRevision?: string | undefined;
  /** The result carries a bounded diff of the change. */
  readonly withDiff?: boolean | undefined;
}

export interface MoveOptions extends CallOptions {
  /** Default true. */
  readonly makeParents?: boolean | undefined;
  /** Default true: a file at the destination that was seen is replaced. False: nothing may be there. */
  readonly overwrite?: boolean | undefined;
}

export interface InsertOptions extends CallOptions {
  /** 0 = top; absent = append. */
  readonly afterLine?: number | undefined;
  readonly expectedRevision?: string | undefined;
}

export interface ListOptions extends CallOptions {
  /** Default 1: the folder's own entries. */
  readonly depth?: number | undefined;
  readonly limit?: number | undefined;
  /** Goes on after this name; not with a depth over 1. The pages of one unchanged folder add up to a full listing. */
  readonly after?: string | undefined;
  /**
   * Default `listing`: folders listed in full count as seen. `entries`: for a caller that shows only some of them; counts as
   * nothing seen. `names`: the same, without sizes, times and link targets.
   */
  readonly as?: 'listing' | 'entries' | 'names' | undefined;
  /** Default `all`. `inside`: without links that lead outside the workspace or nowhere; only with `as` other than `listing`. */
  readonly links?: 'all' | 'inside' | undefined;
  /** Told now and then how many entries were met so far. */
  readonly onProgress?: ((entries: number) => void) | undefined;
}

export interface FindOptions extends CallOptions {
  readonly path?: string | undefined;
  readonly limit?: number | undefined;
  /** Told now and then how many files were found so far. */
  readonly onProgress?: ((files: number) => void) | undefined;
}

export interface SearchOptions extends CallOptions {
  readonly path?: string | undefined;
  readonly glob?: string | undefined;
  /** Files that match this glob are left out. */
  readonly exclude?: string | undefined;
  readonly mode?: 'lines' | 'files' | 'count' | undefined;
  readonly context?: number | undefined;
  readonly ignoreCase?: boolean | undefined;
  /** The pattern is a text, not a regular expression. */
  readonly literal?: boolean | undefined;
  readonly limit?: number | undefined;
  /** Told now and then how many files with matches were found so far. */
  readonly onProgress?: ((files: number) => void) | undefined;
}

/** Which changes to take back. Without a change, path or time: this session's last change. */
export interface UndoSelection {
  readonly change?: string | undefined;
  readonly path?: string | undefined;
  readonly session?: string | undefined;
  readonly sinceMs?: number | undefined;
  readonly preview?: boolean | undefined;
  /** Carry later outside changes over instead of refusing. */
  readonly merge?: boolean | undefined;
}
