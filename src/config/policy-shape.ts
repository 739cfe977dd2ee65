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
/**
 * At least one field is required: a rule without fields would let every session change every file
 * without reading it.
 */
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
 * Every field of a policy except `preset`, which selects the defaults of the others. The checks,
 * the JSON schema, `lookfirst config` and docs/policy.md are generated from this table. Each field
 * has a one-sentence description of its meaning.
 */
export const POLICY_FIELDS: Readonly<Record<keyof Omit<Policy, 'preset'>, Shape>> = {
  seen: setting(oneOf('required', 'optional'), 'whether a session must see a file before changing it'),
  overwrite: setting(
    oneOf('whole', 'any'),
    "what an overwrite needs: every line read (whole), or any part of the file (any). With any, diffs, searches and command output don't count as reads, and even an empty file must be read",
  ),
  partial: setting(
    oneOf('lines', 'file'),
    "an edit to lines the session hasn't seen: allow it with a notice (file), or refuse it (lines), along with commands that change unseen files",
  ),
  staleness: setting(
    oneOf('refuse', 'merge', 'confirm', 'warn', 'off'),
    "what to do when the file has changed since the session saw it: refuse the change, merge edits, let a repeated call through (confirm), warn, or don't check (off)",
  ),
  freshness: setting(
    oneOf('bytes', 'mtime'),
    "when a file counts as changed: if its bytes differ (bytes), or its modification time does, too (mtime). With mtime, a changed file must be read again: the diff in the refusal isn't enough",
  ),
  append: setting(
    oneOf('free', 'gated'),
    'an append to an unread file: allow it (free), or check it like an insert (gated)',
  ),
  matching: setting(
    oneOf('exact', 'safe'),
    "how an edit's old text is found: ignoring small mistakes where that's safe (safe), or exactly (exact). With exact, overwriting a file doesn't keep its BOM, UTF-16 or CRLF",
  ),
  secrets: setting(
    oneOf('mask', 'refuse', 'show'),
    'values in secret files and known tokens: mask them, refuse such files, or show everything',
  ),
  compaction: setting(
    oneOf('clear', 'verify', 'keep'),
    'after a compaction: forget everything (clear), allow edits to unchanged files but no overwrites (verify), or forget nothing (keep)',
  ),
  ttlMs: setting(AMOUNT, 'milliseconds after which a read no longer counts (0 = never)'),
  verificationErrors: setting(
    oneOf('refuse', 'allow'),
    "a file that can't be checked, for example for lack of read permission: refuse the change, or allow it",
  ),
  quotes: setting(
    oneOf('code', 'all', 'off'),
    'typographic quotes a model writes into a code file: straighten the ones that act as code (code), all of them (all), or none (off)',
  ),
  placeholders: setting(
    oneOf('refuse', 'allow'),
    'new text that contains copied line numbers or a placeholder such as "rest unchanged": refuse or allow it',
  ),
  protected: setting(
    GLOBS,
    'globs, relative to the workspace folder (with or without a leading `/`), of paths no session may change. Lookfirst’s own tools and the proxy also refuse to read them; hooks and commands don’t. Your globs are added to the preset’s; `!GLOB` removes one',
  ),
  approve: setting(
    GLOBS,
    "globs, relative to the workspace folder (with or without a leading `/`), of paths that change only with the user's approval",
  ),
  readOnly: setting(FLAG, 'whether to refuse every change'),
  durability: setting(
    oneOf('full', 'file', 'none'),
    'what is synced to disk before a change is reported as done: file, folder and undo (full), only the file (file), or nothing (none)',
  ),
  bypass: setting(
    BYPASS,
    'changes that need no earlier read: globs of paths, or rules with paths, tools and sessions',
  ),
  maxAnswerBytes: setting(POSITIVE, 'the most bytes one read shows'),
  maxSightings: setting(AMOUNT, 'the most files a session remembers (0 = no limit)'),
  journal: objectOf({
    quotaBytes: setting(AMOUNT, 'space for before-images (0 = no limit)'),
    retentionMs: setting(AMOUNT, 'how long entries are kept, in milliseconds (0 = forever)'),
  } satisfies Record<keyof Policy['journal'], Shape>),
  claims: setting(
    oneOf('notice', 'refuse', 'off'),
    "a change to a file another session is working on: allow it with one notice, refuse it, or don't check (off)",
  ),
  commands: objectOf({
    network: setting(oneOf('off', 'on'), 'whether a confined command may use the network'),
    scratch: setting(
      GLOBS,
      'folders that commands change directly, without a layer, journal or undo. Your list replaces the default',
    ),
    trust: setting(
      GLOBS,
      'globs of protected paths that may be changed after all. This works for commands; for tools, only for client and shell configuration',
    ),
    hide: setting(
      GLOBS,
      "paths a confined command can't see. Your paths are added to the default; `!PATH` removes one",
    ),
    env: setting(GLOBS, 'environment variables a confined command gets in addition to the harmless ones'),
    fileBytes: setting(POSITIVE, 'the size of the largest file a command may write, in bytes'),
  } satisfies Record<keyof Policy['commands'], Shape>),
  mode: setting(
    oneOf('enforce', 'observe'),
    'whether hooks enforce the rules, or only record what they would have denied',
  ),
  hooks: objectOf({
    shell: setting(
      oneOf('layer', 'images'),
      "a client's own shell commands: run them on a layer where possible (layer), or compare the files before and after (images)",
    ),
    outside: setting(
      oneOf('pass', 'destroy', 'refuse'),
      'files outside the workspace: let the client decide (pass), refuse a command once if it would delete or overwrite existing ones (destroy), or refuse every change (refuse)',
    ),
    keepBytes: setting(
      POSITIVE,
      "how many bytes are backed up before a client's shell command runs without a layer: git's own files, ignored files and nested repositories, each file up to 8 MB",
    ),
  } satisfies Record<keyof Policy['hooks'], Shape>),
};

/** The settings that only presets set: the rules of the systems that they copy. */
export const PRESET_RULES: readonly (keyof Policy)[] = [
  'seen',
  'overwrite',
  'freshness',
  'append',
  'matching',
  'verificationErrors',
  'placeholders',
  'maxSightings',
];

export const PRESET: Shape = setting(
  oneOf(...PRESET_NAMES),
  'the preset that gives the other settings their defaults',
);

export const POLICY: ObjectShape = objectOf(POLICY_FIELDS);

/** The content of a policy file, as users write it. */
export const POLICY_FILE: ObjectShape = objectOf({
  $schema: TEXT,
  preset: PRESET,
  proxy: objectOf({
    unknownTools: setting(
      oneOf('allow', 'deny', 'ask'),
      "tools that may change files and that no table describes: allow them, deny them, or refuse the first call and allow it when it's repeated (ask)",
    ),
    servers: setting(listOf(USER_TABLE), "tables that describe your own servers' tools"),
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
