import {
  type BypassRule,
  type CommandPolicy,
  type HookPolicy,
  type Policy,
  PRESET_NAMES,
} from '../model/policy.ts';

/** The values that one field of a policy file may have. */
export type PolicyField =
  | { readonly kind: 'choice'; readonly values: readonly string[] }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'integer'; readonly min: number }
  | { readonly kind: 'globs' }
  /** Globs, and objects of globs by what they match. */
  | { readonly kind: 'bypass' }
  /** A list; the code that uses it checks its members. */
  | { readonly kind: 'list' }
  | { readonly kind: 'object'; readonly fields: Readonly<Record<string, PolicyField>> };

/** The parts of a `bypass` rule. */
export const BYPASS_PARTS: readonly (keyof BypassRule)[] = ['paths', 'tools', 'sessions'];

const AMOUNT: PolicyField = { kind: 'integer', min: 0 };
const POSITIVE: PolicyField = { kind: 'integer', min: 1 };
const GLOBS: PolicyField = { kind: 'globs' };

/** Every field of a policy but `preset`, which names where the others start. */
export const POLICY_FIELDS: Readonly<Record<keyof Omit<Policy, 'preset'>, PolicyField>> = {
  wording: choice(...PRESET_NAMES),
  seen: choice('required', 'optional'),
  overwrite: choice('whole', 'any'),
  partial: choice('lines', 'file'),
  staleness: choice('refuse', 'merge', 'confirm', 'warn', 'off'),
  freshness: choice('bytes', 'mtime'),
  cure: choice('diff', 'reread'),
  append: choice('free', 'gated'),
  empty: choice('exempt', 'gated'),
  matching: choice('exact', 'safe'),
  form: choice('keep', 'exact'),
  secrets: choice('mask', 'refuse', 'show'),
  compaction: choice('clear', 'verify', 'keep'),
  ttlMs: AMOUNT,
  verificationErrors: choice('refuse', 'allow'),
  quotes: choice('code', 'all', 'off'),
  placeholders: choice('refuse', 'allow'),
  protected: GLOBS,
  approve: GLOBS,
  readOnly: { kind: 'boolean' },
  hardLinks: choice('break', 'refuse'),
  durability: choice('full', 'file', 'none'),
  auditFailure: choice('refuse', 'allow'),
  bypass: { kind: 'bypass' },
  hugeBytes: POSITIVE,
  maxEditBytes: POSITIVE,
  maxReadLines: POSITIVE,
  maxLineChars: POSITIVE,
  maxAnswerBytes: POSITIVE,
  maxReadMs: POSITIVE,
  maxDiffLines: AMOUNT,
  maxSightings: AMOUNT,
  lockTimeoutMs: AMOUNT,
  sessionIdleMs: POSITIVE,
  journal: {
    kind: 'object',
    fields: {
      quotaBytes: AMOUNT,
      retentionMs: AMOUNT,
      reads: choice('all', 'summary'),
      readRetentionMs: AMOUNT,
    },
  },
  images: { kind: 'object', fields: { secrets: choice('here', 'shared') } },
  claims: choice('notice', 'refuse', 'off'),
  claimMs: POSITIVE,
  claimTools: choice('on', 'off'),
  commands: {
    kind: 'object',
    fields: {
      writes: choice('judged', 'apply', 'seen-only', 'discard'),
      network: choice('off', 'on'),
      scratch: GLOBS,
      trust: GLOBS,
      hide: GLOBS,
      env: GLOBS,
      timeoutMs: POSITIVE,
      maxProcesses: POSITIVE,
      memoryBytes: POSITIVE,
      fileBytes: POSITIVE,
    } satisfies Record<keyof CommandPolicy, PolicyField>,
  },
  mode: choice('enforce', 'observe'),
  hooks: {
    kind: 'object',
    fields: {
      shell: choice('layer', 'images'),
      snapshot: choice('auto', 'git', 'off'),
      outside: choice('pass', 'refuse'),
    } satisfies Record<keyof HookPolicy, PolicyField>,
  },
};

/** Settings of the proxy, which are no part of a policy. */
export const PROXY_FIELD: PolicyField = {
  kind: 'object',
  fields: {
    unknownTools: choice('allow', 'deny', 'ask'),
    receipts: { kind: 'boolean' },
    servers: { kind: 'list' },
  },
};

export const PRESET_FIELD: PolicyField = choice(...PRESET_NAMES);

function choice(...values: readonly string[]): PolicyField {
  return { kind: 'choice', values };
}
