import { USER_TABLE } from '../dialect/calls/table.ts';
import { toJsonSchema } from '../model/json-schema.ts';
import { type BypassRule, type Policy, PRESET_NAMES } from '../model/policy.ts';
import type { JsonRecord } from '../model/record.ts';
import {
  FLAG,
  integerFrom,
  listOf,
  NAME,
  type ObjectShape,
  objectOf,
  oneOf,
  type Shape,
  TEXT,
} from '../model/shape.ts';

const AMOUNT = integerFrom(0);
const POSITIVE = integerFrom(1);
const GLOB: Shape = { ...NAME, must: 'a glob' };
const GLOBS = listOf(GLOB, { must: 'an array of glob patterns' });
const SOME_GLOBS = listOf(GLOB, { minItems: 1, must: 'an array of at least one glob' });
/** A rule without any part would exempt everything. */
const BYPASS_RULE: ObjectShape = {
  ...objectOf({
    paths: SOME_GLOBS,
    tools: SOME_GLOBS,
    sessions: SOME_GLOBS,
  } satisfies Record<keyof BypassRule, Shape>),
  minProperties: 1,
};
const BYPASS = listOf({ type: 'either', shapes: [GLOB, BYPASS_RULE] });

/**
 * Every field of a policy except `preset`, which selects the defaults of the others. The checks, the JSON schema,
 * `lookfirst config` and docs/policy.md are generated from this table. A description is the meaning in one sentence.
 */
export const POLICY_FIELDS: Readonly<Record<keyof Omit<Policy, 'preset'>, Shape>> = {
  wording: setting(oneOf(...PRESET_NAMES), 'the preset whose sentences refusals use'),
  seen: setting(
    oneOf('required', 'optional'),
    'whether a session must have seen a file before it changes it',
  ),
  overwrite: setting(oneOf('whole', 'any'), 'what an overwrite needs: every line seen, or any view'),
  partial: setting(
    oneOf('lines', 'file'),
    'whether an edit may touch lines that were not shown: file (with a notice) or lines (no)',
  ),
  staleness: setting(
    oneOf('refuse', 'merge', 'confirm', 'warn', 'off'),
    'a file changed since it was seen: refuse, merge edits with the change, hold back until repeated (confirm), warn, or off',
  ),
  freshness: setting(
    oneOf('bytes', 'mtime'),
    'what counts as changed: other bytes, or also another modification time',
  ),
  cure: setting(
    oneOf('diff', 'reread'),
    'what a session must do after STALE: use the diff in the refusal, or read the file again',
  ),
  append: setting(
    oneOf('free', 'gated'),
    'an append to an unread file: allowed (free), or judged like an insert (gated)',
  ),
  empty: setting(
    oneOf('exempt', 'gated'),
    'a change of an unread empty file: allowed (exempt), or only after a read (gated)',
  ),
  matching: setting(
    oneOf('exact', 'safe'),
    'how the text of an edit is found: exact, or ignoring small mistakes where that is safe',
  ),
  form: setting(
    oneOf('keep', 'exact'),
    'a whole write over a file with a BOM, UTF-16 or CRLF: keep that form, or exact',
  ),
  secrets: setting(
    oneOf('mask', 'refuse', 'show'),
    'values in secret files and known tokens: mask them, refuse such files, or show everything',
  ),
  compaction: setting(
    oneOf('clear', 'verify', 'keep'),
    'what a compaction leaves: nothing, what the disk confirms, or everything',
  ),
  ttlMs: setting(AMOUNT, 'milliseconds after which a read no longer counts (0 = never)'),
  verificationErrors: setting(
    oneOf('refuse', 'allow'),
    'a check that failed: refuse the change, or allow it',
  ),
  quotes: setting(
    oneOf('code', 'all', 'off'),
    'typographic quotes written by a model: straightened in code, everywhere, or never',
  ),
  placeholders: setting(
    oneOf('refuse', 'allow'),
    'text that carries line numbers or "rest unchanged" stubs: refuse or allow',
  ),
  protected: setting(GLOBS, 'globs that no session may read or write'),
  approve: setting(GLOBS, 'globs of paths whose changes each need the approval of the user'),
  readOnly: setting(FLAG, 'whether every change is refused'),
  hardLinks: setting(
    oneOf('break', 'refuse'),
    'writing a file that has other names: break and report, or refuse',
  ),
  durability: setting(
    oneOf('full', 'file', 'none'),
    'synced before a change is acknowledged: file, folder and undo (full), only the file, or none',
  ),
  auditFailure: setting(
    oneOf('refuse', 'allow'),
    'the journal cannot be written: refuse the change, or allow it unrecorded',
  ),
  bypass: setting(
    BYPASS,
    'what the operator exempts from having been read: globs, or rules with paths, tools, sessions',
  ),
  hugeBytes: setting(POSITIVE, 'files over this size are read by pages'),
  maxEditBytes: setting(POSITIVE, 'files over this size are not edited or overwritten'),
  maxReadLines: setting(POSITIVE, 'lines that one read shows at most'),
  maxLineChars: setting(POSITIVE, 'characters of a line that a read shows at most'),
  maxAnswerBytes: setting(POSITIVE, 'bytes of lines that one read shows at most'),
  maxReadMs: setting(
    POSITIVE,
    'milliseconds after which a read of a huge file or a search answers with what it has',
  ),
  maxDiffLines: setting(AMOUNT, 'lines of a diff in refusals and notices at most'),
  maxSightings: setting(AMOUNT, 'files that a session remembers at most (0 = no limit)'),
  lockTimeoutMs: setting(AMOUNT, 'milliseconds to wait for another writer before BUSY'),
  sessionIdleMs: setting(POSITIVE, 'milliseconds after which an idle unnamed session is forgotten'),
  journal: objectOf({
    quotaBytes: setting(AMOUNT, 'space for before-images (0 = no limit)'),
    retentionMs: setting(AMOUNT, 'milliseconds for which entries are kept (0 = for ever)'),
    reads: setting(
      oneOf('all', 'summary'),
      'in a fleet store: journal all reads, or one a minute, session and file (summary)',
    ),
    readRetentionMs: setting(
      AMOUNT,
      'in a fleet store: milliseconds for which reads are kept (0 = as long as everything else)',
    ),
  } satisfies Record<keyof Policy['journal'], Shape>),
  images: objectOf({
    secrets: setting(
      oneOf('here', 'shared'),
      'before-images of secret files in a fleet store: here (only on the machine of the change) or shared',
    ),
  } satisfies Record<keyof Policy['images'], Shape>),
  claims: setting(
    oneOf('notice', 'refuse', 'off'),
    'a file that another session is changing: notice (say so once), refuse its change, or off',
  ),
  claimMs: setting(POSITIVE, 'milliseconds for which a change claims its file, unless its turn ends before'),
  claimTools: setting(
    oneOf('on', 'off'),
    'whether agents are offered tools to claim and release paths by hand',
  ),
  commands: objectOf({
    writes: setting(
      oneOf('judged', 'apply', 'seen-only', 'discard'),
      "a command's writes: refuse lost updates (judged), do not check (apply), only seen files (seen-only), or discard",
    ),
    network: setting(oneOf('off', 'on'), 'whether a confined command may use the network'),
    scratch: setting(GLOBS, 'folders that commands use directly: not layered, not journalled'),
    trust: setting(
      GLOBS,
      'globs of protected paths that commands may change, and of guarded configuration that tools and commands may change',
    ),
    hide: setting(GLOBS, 'paths that a confined command does not see'),
    env: setting(GLOBS, 'environment variables that a confined command gets besides the harmless ones'),
    timeoutMs: setting(POSITIVE, 'milliseconds after which a confined command is ended'),
    maxProcesses: setting(POSITIVE, 'processes that a confined command may have at once'),
    memoryBytes: setting(POSITIVE, 'memory that each process of a confined command may use'),
    fileBytes: setting(POSITIVE, 'the largest file that a command may leave behind'),
  } satisfies Record<keyof Policy['commands'], Shape>),
  mode: setting(
    oneOf('enforce', 'observe'),
    'whether hooks enforce the rules, or only observe and record what they would have denied',
  ),
  hooks: objectOf({
    shell: setting(
      oneOf('layer', 'images'),
      "a client's own shell commands: run on a layer where possible, or record images before and after",
    ),
    snapshot: setting(
      oneOf('auto', 'git', 'off'),
      'files a session has not seen, around a command: found with git within 3 s (auto), always (git), or off',
    ),
    outside: setting(
      oneOf('pass', 'refuse'),
      'files outside the workspace: pass (the client decides) or refuse',
    ),
  } satisfies Record<keyof Policy['hooks'], Shape>),
};

export const PRESET: Shape = setting(
  oneOf(...PRESET_NAMES),
  'the preset that gives the other settings their defaults',
);

export const POLICY: ObjectShape = objectOf(POLICY_FIELDS);

/** The content of a policy file, as people write it. */
export const POLICY_FILE: ObjectShape = objectOf({
  $schema: TEXT,
  preset: PRESET,
  proxy: objectOf({
    unknownTools: oneOf('allow', 'deny', 'ask'),
    receipts: FLAG,
    servers: listOf(USER_TABLE),
  }),
  ...POLICY_FIELDS,
});

/** The JSON schema of a policy file, for editors. */
export function policySchema(): JsonRecord {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Lookfirst policy',
    ...toJsonSchema(POLICY_FILE),
  };
}

function setting(shape: Shape, description: string): Shape {
  return { ...shape, description };
}
