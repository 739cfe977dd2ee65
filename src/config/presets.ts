import type { Policy, PresetName } from '../model/policy.ts';
import { DEFAULT_PROTECTED, SEED_D_PROTECTED } from './protected.ts';

const MEBIBYTE = 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Folders whose content can be generated again by tools. Commands change them directly: without a
 * layer, and without a journal entry.
 */
const SCRATCH = [
  '**/node_modules',
  '**/target',
  '**/.venv',
  '**/venv',
  '**/__pycache__',
  '**/.cache',
  '**/.gradle',
  '**/.mypy_cache',
  '**/.pytest_cache',
  '**/.ruff_cache',
  '**/.next',
  '**/.turbo',
];

/** Files in which users and machines keep keys and passwords. */
const HIDDEN = [
  '/etc/shadow',
  '/etc/gshadow',
  '/etc/ssl/private',
  '~/.ssh',
  '~/.gnupg',
  '~/.aws',
  '~/.azure',
  '~/.config/gcloud',
  '~/.config/gh',
  '~/.kube',
  '~/.docker',
  '~/.netrc',
  '~/.npmrc',
  '~/.pypirc',
  '~/.git-credentials',
  '~/.config/git/credentials',
  '~/.password-store',
  '~/.local/share/keyrings',
  '~/.mozilla',
  '~/.config/google-chrome',
  '~/.claude',
  '~/.codex',
  '~/.gemini',
];

const COMMANDS: Policy['commands'] = {
  network: 'off',
  scratch: SCRATCH,
  trust: [],
  hide: HIDDEN,
  env: [],
  fileBytes: 256 * MEBIBYTE,
};

const DEFAULT: Policy = {
  preset: 'default',
  seen: 'required',
  overwrite: 'whole',
  partial: 'file',
  staleness: 'merge',
  freshness: 'bytes',
  append: 'free',
  matching: 'safe',
  secrets: 'mask',
  compaction: 'verify',
  ttlMs: 0,
  verificationErrors: 'refuse',
  quotes: 'code',
  placeholders: 'refuse',
  protected: DEFAULT_PROTECTED,
  approve: [],
  readOnly: false,
  durability: 'full',
  bypass: [],
  maxAnswerBytes: 256 * 1024,
  maxSightings: 10_000,
  journal: {
    quotaBytes: 1024 * MEBIBYTE,
    retentionMs: 30 * DAY_MS,
  },
  claims: 'notice',
  commands: COMMANDS,
  mode: 'enforce',
  hooks: { shell: 'layer', outside: 'destroy', keepBytes: 64 * MEBIBYTE },
};

/**
 * The settings that four presets share. Each of these presets copies the rules of an existing
 * system, called seed A to D. `staleness: 'warn'` reports a stale file even where the copied system
 * ignores it, because no change may be lost unnoticed.
 */
const SEED: Policy = {
  ...DEFAULT,
  overwrite: 'any',
  staleness: 'warn',
  append: 'gated',
  matching: 'exact',
  secrets: 'show',
  maxSightings: 0,
  compaction: 'keep',
  quotes: 'off',
  placeholders: 'allow',
  claims: 'off',
};

/** The presets, each a complete policy. */
export const PRESETS: Readonly<Record<PresetName, Policy>> = {
  default: DEFAULT,
  /**
   * Refuses a change of a file that another program has changed since the session saw it. Requires
   * that the session has seen the lines that an edit changes. After a compaction, no file counts as
   * seen.
   */
  strict: {
    ...DEFAULT,
    preset: 'strict',
    partial: 'lines',
    staleness: 'refuse',
    append: 'gated',
    compaction: 'clear',
  },
  /** Copies an existing system (seed A) that remembers which paths were read. */
  sandbox: { ...SEED, preset: 'sandbox', secrets: 'mask' },
  /**
   * Copies an existing system (seed B) that remembers each file's modification time at a read. A
   * file whose time has changed is stale. If the time cannot be checked, the write is allowed.
   */
  'file-time': {
    ...SEED,
    preset: 'file-time',
    staleness: 'refuse',
    freshness: 'mtime',
    verificationErrors: 'allow',
  },
  /**
   * Copies an existing system (seed C) in which a file counts as seen only if the conversation has
   * shown it since its last compaction.
   */
  'thread-history': {
    ...SEED,
    preset: 'thread-history',
    compaction: 'clear',
  },
  /**
   * Copies an existing system (seed D). It refuses a change of a stale file once, with a warning,
   * and allows the repeated call. It allows changes to unread files, and straightens all quotes in
   * code.
   */
  staleness: {
    ...SEED,
    preset: 'staleness',
    staleness: 'confirm',
    seen: 'optional',
    append: 'free',
    verificationErrors: 'allow',
    quotes: 'all',
    protected: SEED_D_PROTECTED,
  },
};
