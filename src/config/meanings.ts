import type { Policy } from '../model/policy.ts';

type Grouped = 'journal' | 'images' | 'commands' | 'hooks';

/** The meaning of each policy setting in one sentence, by its name. A setting in a group has a dotted name. */
type Meanings = Readonly<
  Record<keyof Omit<Policy, Grouped>, string> & {
    readonly [G in Grouped as `${G}.${Extract<keyof Policy[G], string>}`]: string;
  }
>;

export const MEANINGS: Meanings = {
  preset: 'the preset with which the other settings begin',
  wording: 'whose sentences refusals use',
  seen: 'whether a session must have seen a file before it changes it',
  overwrite: 'what an overwrite needs: every line seen, or any view',
  partial: 'whether an edit may touch lines that were not shown: file (with a notice) or lines (no)',
  staleness: 'a file changed since it was seen: refuse, merge edits over the change, warn, or ignore it',
  freshness: 'what counts as changed: other bytes, or also another modification time',
  cure: 'what a session must do after STALE: take in the diff shown, or read the file again',
  append: 'whether an append to an unread file is free or gated',
  empty: 'whether an unread empty file is exempt or gated',
  matching: 'how the text of an edit is found: exact, or with the mistakes that are safe to ignore',
  form: 'a whole write over a file with a BOM, UTF-16 or CRLF: keep that form, or exact',
  secrets: 'values in secret files and known tokens: mask them, refuse such files, or show everything',
  compaction: 'what a compaction leaves: nothing, what the disk confirms, or everything',
  ttlMs: 'milliseconds after which a read no longer counts (0 = never)',
  verificationErrors: 'a check that failed: refuse the change, or allow it',
  quotes: 'typographic quotes written by a model: straightened in code, everywhere, or never',
  placeholders: 'text that carries line numbers or "rest unchanged" stubs: refuse or allow',
  protected: 'globs that no session may read or write',
  approve: 'globs whose changes need the approval of the user, each one',
  readOnly: 'whether every change is refused',
  hardLinks: 'writing a file that has other names: break and report, or refuse',
  durability: 'what is synced before a change is acknowledged',
  auditFailure: 'the journal cannot be written: refuse the change, or allow it unrecorded',
  bypass: 'what the operator exempts from having been read: globs, or rules with paths, tools, sessions',
  hugeBytes: 'files over this size are read by pages',
  maxEditBytes: 'files over this size are not edited or overwritten',
  maxReadLines: 'lines that one read shows at most',
  maxLineChars: 'characters of a line that a read shows at most',
  maxAnswerBytes: 'bytes of lines that one read shows at most',
  maxReadMs: 'milliseconds after which a read of a huge file or a search answers with what it has',
  maxDiffLines: 'lines of a diff in refusals and notices at most',
  maxSightings: 'files that a session remembers at most (0 = no limit)',
  lockTimeoutMs: 'milliseconds to wait for another writer before BUSY',
  sessionIdleMs: 'milliseconds after which an idle unnamed session is forgotten',
  'journal.quotaBytes': 'room for before-images (0 = no limit)',
  'journal.retentionMs': 'milliseconds for which entries are kept (0 = for ever)',
  'journal.reads': 'in a fleet store: journal all reads, or one a minute, session and file (summary)',
  'journal.readRetentionMs':
    'in a fleet store: milliseconds for which reads are kept (0 = as long as everything else)',
  'images.secrets':
    'before-images of secret files in a fleet store: here (only on the machine of the change) or shared',
  claims: 'a file that another session is changing: notice (say so once), refuse its change, or off',
  claimMs: 'milliseconds for which a change claims its file, unless its turn ends before',
  claimTools: 'whether agents are offered tools to claim and release paths by hand',
  'commands.writes': "what becomes of a command's writes: judged, apply, seen-only or discard",
  'commands.network': 'whether a confined command may use the network',
  'commands.scratch': 'folders that commands use directly: not layered, not journalled',
  'commands.trust':
    'globs of protected paths that commands may change, and of guarded configuration that tools and commands may change',
  'commands.hide': 'paths that a confined command does not see',
  'commands.env': 'environment variables that a confined command gets besides the harmless ones',
  'commands.timeoutMs': 'milliseconds after which a confined command is ended',
  'commands.maxProcesses': 'processes that a confined command may have at once',
  'commands.memoryBytes': 'memory that each process of a confined command may use',
  'commands.fileBytes': 'the largest file that a command may leave behind',
  mode: 'whether hooks enforce the rules, or only observe and record what they would have denied',
  'hooks.shell':
    "shell commands of a client's own: run on a layer where that is possible, or images before and after",
  'hooks.snapshot':
    'files a session has not seen, around a command: found with git within 3 s (auto), always (git), or off',
  'hooks.outside': 'files outside the workspace: pass (the client decides) or refuse',
};
