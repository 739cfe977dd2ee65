/**
 * Settings as data. A preset is a complete Policy; a policy file overrides single fields of a preset. Rules read these
 * fields and never check which preset they belong to.
 */
export interface Policy {
  /** The preset that this policy is based on. Refusals take their wording from it. */
  readonly preset: PresetName;
  /**
   * `required`: a session may change a file only after it has seen it. `optional`: it may also
   * change unseen files.
   */
  readonly seen: 'required' | 'optional';
  /**
   * The read that an overwrite needs: of every line (`whole`), or of any part of the file (`any`).
   * With `any`, diffs, search hits and command output do not count for any change, and empty files must be read, too.
   */
  readonly overwrite: 'whole' | 'any';
  /** Edits of lines that the session was not shown. `file`: allowed with a notice; `lines`: refused. */
  readonly partial: 'lines' | 'file';
  /**
   * The rule for changing a file that has changed since the session saw it. `refuse`: the change is
   * refused. `merge`: edits and inserts are applied to the present file, and other changes are
   * refused. `confirm` (preset `staleness`): the session must repeat the change. `warn`: the change
   * is made, with a warning. `off`: there is no check.
   */
  readonly staleness: 'refuse' | 'merge' | 'confirm' | 'warn' | 'off';
  /**
   * When a file counts as changed. `bytes`: if its bytes differ; the diff in a STALE refusal then counts as a read.
   * `mtime` (preset `file-time`): also if its modification time differs; then only a new read of the file counts.
   */
  readonly freshness: 'bytes' | 'mtime';
  /** Appends to an unseen file. `free`: allowed with a notice. `gated`: judged like an insert. */
  readonly append: 'free' | 'gated';
  /**
   * The matching of an edit's text: exact (except line endings), or tolerant of small mistakes that are safe to ignore.
   * A write of a whole file that replaces one with a BOM, UTF-16 or CRLF keeps that form, unless the matching is exact.
   */
  readonly matching: 'exact' | 'safe';
  /** Values in secret files and known tokens: show them masked, refuse such files, or show everything. */
  readonly secrets: 'mask' | 'refuse' | 'show';
  /**
   * The effect of a summary of the conversation on seen files. `clear`: nothing counts as seen.
   * `verify`: edits of unchanged files stay allowed. `keep` (presets `sandbox`, `file-time`):
   * everything still counts as seen.
   */
  readonly compaction: 'clear' | 'verify' | 'keep';
  /**
   * Time after which a read of a file no longer counts. Changes are then refused as READ_EXPIRED. 0
   * = never.
   */
  readonly ttlMs: number;
  /**
   * If a check fails with an error: refuse as UNVERIFIABLE, or (presets `file-time`, `staleness`)
   * allow the change.
   */
  readonly verificationErrors: 'refuse' | 'allow';
  /**
   * Typographic quotes in code that a model wrote: replaced by straight ones where they act as
   * code, everywhere, or never.
   */
  readonly quotes: 'code' | 'all' | 'off';
  /**
   * Refuse or allow text with a placeholder such as "rest unchanged", or with line numbers copied
   * from a read.
   */
  readonly placeholders: 'refuse' | 'allow';
  /** Globs that no session may read or write, matched case-insensitively against the path inside the root. */
  readonly protected: readonly string[];
  /** Globs of paths for which every change needs the user's approval; matched like `protected`. */
  readonly approve: readonly string[];
  readonly readOnly: boolean;
  readonly durability: Durability;
  /**
   * The user's exemptions from the rules `seen`, `covered` and `fresh`; a string is a glob of
   * paths. Every use is journalled.
   */
  readonly bypass: readonly (string | BypassRule)[];
  /**
   * Maximum bytes of lines in the answer to one read; the answer says which lines it shows. `raw`
   * reads of whole files are not cut.
   */
  readonly maxAnswerBytes: number;
  /**
   * Maximum number of files that a session remembers to have seen (0 = no limit). Beyond it, the
   * session forgets the oldest one. A change of that file is then refused as unread, and the
   * refusal says why.
   */
  readonly maxSightings: number;
  readonly journal: {
    readonly quotaBytes: number;
    readonly retentionMs: number;
  };
  /**
   * If another session is changing a file: notify sessions that read or change it, refuse their changes as BUSY, or do
   * neither.
   */
  readonly claims: 'notice' | 'refuse' | 'off';
  readonly commands: CommandPolicy;
  /**
   * `enforce`: hooks deny what the rules refuse. `observe`: hooks let every call pass and record what they would have
   * denied.
   */
  readonly mode: 'enforce' | 'observe';
  readonly hooks: HookPolicy;
}

/** Settings of the hooks that check an agent's own tools; see docs/hooks.md. */
interface HookPolicy {
  /**
   * The way to record a shell command's changes. `images`: compare files before and after. `layer`:
   * run the command on an overlay layer where machine and client support it.
   */
  readonly shell: 'layer' | 'images';
  /**
   * Files outside the workspace. `pass`: the host's own permissions decide. `destroy`: a command that
   * would delete or overwrite existing ones is refused once. `refuse`: every change is refused.
   */
  readonly outside: 'pass' | 'destroy' | 'refuse';
  /**
   * Total size, in bytes, of the files that are kept before a command because no commit has them:
   * git's own files, ignored files and nested repositories. Only without a layer.
   */
  readonly keepBytes: number;
}

/**
 * A call that matches every given field is exempt from the rules `seen`, `covered` and `fresh`.
 * Each field is a list of globs.
 */
export interface BypassRule {
  /** Globs of paths inside the root. */
  readonly paths?: readonly string[];
  /** Globs of tool names, as the client sees them. */
  readonly tools?: readonly string[];
  readonly sessions?: readonly string[];
}

/**
 * The treatment of a command's writes. `judged`: committed, unless they overwrite another writer's
 * change to a file that the session saw. `apply`: committed. `seen-only`: committed if the session
 * saw every changed file. `discard`: shown, but not committed.
 */
export type CommandWrites = 'judged' | 'apply' | 'seen-only' | 'discard';

/**
 * Settings of commands that run on an overlay layer, which keeps their writes apart until they are
 * committed; see docs/commands.md.
 */
interface CommandPolicy {
  /** Network access of a confined command (one that runs with the profile `confine`). */
  readonly network: 'off' | 'on';
  /**
   * Globs of folders that commands change directly, without overlay layer and journal entry. Only
   * folders that git ignores count.
   */
  readonly scratch: readonly string[];
  /**
   * Globs of paths that may be changed although they are protected. Commands may change every
   * matching path. For the session's own tools, the globs apply only to configuration files that
   * are protected because they decide which programs run.
   */
  readonly trust: readonly string[];
  /** Paths hidden from confined commands; `~/` means the user's home folder. */
  readonly hide: readonly string[];
  /**
   * Environment variables passed to a confined command, in addition to a fixed list of harmless
   * ones.
   */
  readonly env: readonly string[];
  /** Size of the largest file that a command may write. */
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
