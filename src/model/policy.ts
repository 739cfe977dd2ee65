/**
 * Settings as data. A preset is a complete Policy; a policy file overrides single fields of one.
 * Rules in code read these; they never ask which preset they came from.
 */
export interface Policy {
  /** The preset this policy began as. */
  readonly preset: PresetName;
  /** Whose sentences refusals speak. */
  readonly wording: PresetName;
  /** Must a session have seen a file before it changes it? */
  readonly seen: 'required' | 'optional';
  /** What an overwrite needs: every line, or any view at all. */
  readonly overwrite: 'whole' | 'any';
  /** May an edit touch lines the session was not shown? `file`: yes, with a notice; `lines`: no. */
  readonly partial: 'lines' | 'file';
  /**
   * The file changed since it was seen: refuse, carry edits over the change, hold the change back until it is repeated
   * (seed D), warn, or do not ask.
   */
  readonly staleness: 'refuse' | 'merge' | 'confirm' | 'warn' | 'off';
  /** What "changed" means: other bytes, or (seed B) other bytes or another modification time. */
  readonly freshness: 'bytes' | 'mtime';
  /** What a session must do after STALE: take in the diff that the refusal shows, or (seed B) read the file again. */
  readonly cure: 'diff' | 'reread';
  /** May a session append to a file it has not seen? `free`: yes, with a notice; `gated`: an append needs what an insert needs. */
  readonly append: 'free' | 'gated';
  /** May a session change an unread file of no bytes? `exempt`: yes, nothing can be lost; `gated`: not before reading it. */
  readonly empty: 'exempt' | 'gated';
  /** How an edit's text is found: as it is (but for line endings), or with the small mistakes that are safe to look past. */
  readonly matching: 'exact' | 'safe';
  /** A whole write over a file with a BOM, UTF-16 or CRLF: keep that form, or write exactly what was given. */
  readonly form: 'keep' | 'exact';
  /** Values in secret files and known tokens: show them masked, refuse such files, or show everything. */
  readonly secrets: 'mask' | 'refuse' | 'show';
  /** What compaction leaves: nothing; the baseline, which still licenses edits of unchanged files; or everything (seeds A, B). */
  readonly compaction: 'clear' | 'verify' | 'keep';
  /** Sightings older than this are READ_EXPIRED; 0 = never. */
  readonly ttlMs: number;
  /** A check that could not be made: refuse as UNVERIFIABLE, or (seeds B, D) go on. */
  readonly verificationErrors: 'refuse' | 'allow';
  /** Typographic quotes in model-authored code: straightened where they stand as code, everywhere, or never. */
  readonly quotes: 'code' | 'all' | 'off';
  /** Refuse text that carries our own read decorations or "rest unchanged" stubs. */
  readonly placeholders: 'refuse' | 'allow';
  /** Globs no session may read or write, matched without regard to case against the path inside the root. */
  readonly protected: readonly string[];
  /** Globs whose changes need the user's approval, each one; matched like `protected`. */
  readonly approve: readonly string[];
  readonly readOnly: boolean;
  /** Writing a file that has other names: break and report, or refuse. */
  readonly hardLinks: 'break' | 'refuse';
  readonly durability: Durability;
  /** The journal cannot be written: refuse the change, or go on without a record. */
  readonly auditFailure: 'refuse' | 'allow';
  /** What the operator exempts from seen, covered and fresh; a text is a glob of paths. Every use is journalled. */
  readonly bypass: readonly (string | BypassRule)[];
  /** Files over this size are read by pages and have no whole fingerprint until wholly covered. */
  readonly hugeBytes: number;
  /** Files over this size are not loaded for an edit or overwrite. */
  readonly maxEditBytes: number;
  readonly maxReadLines: number;
  readonly maxLineChars: number;
  /** Bytes of lines that one read shows at most; the receipt names the lines shown. Whole files of `raw` reads are not cut. */
  readonly maxAnswerBytes: number;
  /** A read of a huge file, or a search, that takes longer is answered with what was found until then. */
  readonly maxReadMs: number;
  /** Bound on diffs and other quotations in refusals and notices. */
  readonly maxDiffLines: number;
  /** Sightings kept per session; the oldest is evicted and then refuses as unread, saying so. 0 = no limit. */
  readonly maxSightings: number;
  /** How long to wait for another writer's lock before BUSY. */
  readonly lockTimeoutMs: number;
  /** Unnamed and idle sessions are forgotten after this. */
  readonly sessionIdleMs: number;
  readonly journal: {
    readonly quotaBytes: number;
    readonly retentionMs: number;
    /** In a fleet store: journal every read, or the first of each minute, session and file. */
    readonly reads: 'all' | 'summary';
    /** In a fleet store: reads are kept for this long, changes and refusals for `retentionMs`; 0 = no difference. */
    readonly readRetentionMs: number;
  };
  readonly images: {
    /** Before-images of secret files in a fleet store: only on the machine that made the change, or in the database. */
    readonly secrets: 'here' | 'shared';
  };
  /**
   * A file that another session is changing: tell whoever reads or changes it, refuse its change as BUSY, or do neither.
   */
  readonly claims: 'notice' | 'refuse' | 'off';
  /** A change claims its file for others' notices for this long, unless its turn ends before. */
  readonly claimMs: number;
  /** Offer tools to claim and release paths by hand. */
  readonly claimTools: 'on' | 'off';
  readonly commands: CommandPolicy;
  /** `enforce`: hooks deny what the rules refuse. `observe`: hooks let every call pass and record what they would have denied. */
  readonly mode: 'enforce' | 'observe';
  readonly hooks: HookPolicy;
}

/** Settings of the gate for an agent's own tools; see docs/hooks.md. */
export interface HookPolicy {
  /** Shell commands: kept images of files before and after, or a layer where the machine and the client allow one. */
  readonly shell: 'layer' | 'images';
  /** Files a session has not seen, around a command: found with git within a time limit, with git always, or not at all. */
  readonly snapshot: 'auto' | 'git' | 'off';
  /** Files outside the workspace: left to the host's own permissions, or refused. */
  readonly outside: 'pass' | 'refuse';
}

/** Exempts calls for which every part that is given matches; each part is a list of globs. */
export interface BypassRule {
  /** Paths inside the root. */
  readonly paths?: readonly string[];
  /** Names of tools in the dialect in use. */
  readonly tools?: readonly string[];
  readonly sessions?: readonly string[];
}

/** Settings of commands that run on a layer; see docs/commands.md. */
export interface CommandPolicy {
  /**
   * What becomes of a command's writes. `judged`: committed, unless they drop another writer's change to a file that the
   * session saw. `apply`: committed. `seen-only`: committed if the session saw every file that changes. `discard`: shown only.
   */
  readonly writes: 'judged' | 'apply' | 'seen-only' | 'discard';
  /** May a confined command use the network? */
  readonly network: 'off' | 'on';
  /** Globs of folders that commands use directly: not layered, not journalled. They must be ignored by git. */
  readonly scratch: readonly string[];
  /** Globs of protected paths and guarded configuration that commands may change. */
  readonly trust: readonly string[];
  /** Paths that a confined command does not see; `~/` begins the user's home folder. */
  readonly hide: readonly string[];
  /** Environment variables that a confined command gets besides the harmless ones. */
  readonly env: readonly string[];
  /** A confined command is ended after this, unless its caller asks for another limit. */
  readonly timeoutMs: number;
  /** Processes that a confined command may have at once. */
  readonly maxProcesses: number;
  /** Memory that each process of a confined command may use. */
  readonly memoryBytes: number;
  /** The largest file that a command may leave behind. */
  readonly fileBytes: number;
}

/** `full`: file and directory are synced before a change is acknowledged; `file`: the file only; `none`: neither. */
export type Durability = 'full' | 'file' | 'none';

export const PRESET_NAMES = [
  'default',
  'strict',
  'sandbox',
  'file-time',
  'thread-history',
  'staleness',
] as const;
export type PresetName = (typeof PRESET_NAMES)[number];
