import type { Policy, PresetName } from '../model/policy.ts';
import { DEFAULT_PROTECTED, SEED_D_PROTECTED } from './protected.ts';

const MEBIBYTE = 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

const DEFAULT: Policy = {
  preset: 'default',
  wording: 'default',
  seen: 'required',
  overwrite: 'whole',
  partial: 'file',
  staleness: 'merge',
  freshness: 'bytes',
  compaction: 'verify',
  ttlMs: 0,
  verificationErrors: 'refuse',
  quotes: 'code',
  placeholders: 'refuse',
  protected: DEFAULT_PROTECTED,
  readOnly: false,
  hardLinks: 'break',
  durability: 'full',
  auditFailure: 'refuse',
  bypass: [],
  hugeBytes: 8 * MEBIBYTE,
  maxEditBytes: 64 * MEBIBYTE,
  maxReadLines: 2000,
  maxLineChars: 2000,
  maxDiffLines: 120,
  maxSightings: 10_000,
  lockTimeoutMs: 5000,
  sessionIdleMs: 7 * DAY_MS,
  journal: { quotaBytes: 1024 * MEBIBYTE, retentionMs: 30 * DAY_MS },
};

/**
 * What the seed systems have in common: any view of a file licenses any change of it, and the text goes in as it came.
 * Where a seed never asks for staleness, `warn` still tells of it: presets may drop Seen and Quiet, never Kept.
 */
const SEED: Policy = {
  ...DEFAULT,
  overwrite: 'any',
  staleness: 'warn',
  compaction: 'keep',
  quotes: 'off',
  placeholders: 'allow',
};

/** The presets, each a complete policy. */
export const PRESETS: Readonly<Record<PresetName, Policy>> = {
  default: DEFAULT,
  /** Any staleness refuses, an edit needs the very lines it touches, compaction forgets. */
  strict: {
    ...DEFAULT,
    preset: 'strict',
    partial: 'lines',
    staleness: 'refuse',
    compaction: 'clear',
  },
  /** Seed A: a set of paths that were read. */
  sandbox: { ...SEED, preset: 'sandbox', wording: 'sandbox' },
  /** Seed B: a modification time per read; later means stale, and a check that fails lets the write through. */
  'file-time': {
    ...SEED,
    preset: 'file-time',
    wording: 'file-time',
    staleness: 'refuse',
    freshness: 'mtime',
    verificationErrors: 'allow',
  },
  /** Seed C: what the conversation shows since its last compaction. */
  'thread-history': {
    ...SEED,
    preset: 'thread-history',
    wording: 'thread-history',
    compaction: 'clear',
  },
  /** Seed D: warns of changed files, asks nothing of unread ones, straightens every quote in code. */
  staleness: {
    ...SEED,
    preset: 'staleness',
    wording: 'staleness',
    seen: 'optional',
    verificationErrors: 'allow',
    quotes: 'all',
    protected: SEED_D_PROTECTED,
  },
};
