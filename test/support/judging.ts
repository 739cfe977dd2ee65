import { PRESETS } from '../../src/config/presets.ts';
import type { Facts, Target } from '../../src/judge/facts.ts';
import type { JudgeRule } from '../../src/judge/ruling.ts';
import { WHOLE } from '../../src/model/coverage.ts';
import type { Policy } from '../../src/model/policy.ts';
import { NO_FLAGS, type Sighting, type SightingFlags } from '../../src/model/sighting.ts';

export const SEEN_AT = 1_000_000;

/** An ordinary text file of 10 lines. */
export const FILE: Extract<Target, { exists: true }> = {
  exists: true,
  kind: 'file',
  sizeBytes: 100,
  readOnly: false,
  empty: false,
};
export const MISSING: Target = { exists: false };

/**
 * A sighting (the record that a session has seen a file) of all of `a.txt`, with the given fields
 * replaced.
 */
export function sighting(changes: Partial<Sighting> = {}): Sighting {
  return {
    key: '/w/a.txt',
    fingerprint: { sha256: 'aa'.repeat(32), size: 100 },
    stamp: undefined,
    racy: false,
    coverage: WHOLE,
    totalLines: 10,
    flags: NO_FLAGS,
    how: 'read',
    atMs: SEEN_AT,
    ...changes,
  };
}

export function flags(changes: Partial<SightingFlags>): SightingFlags {
  return { ...NO_FLAGS, ...changes };
}

/** The facts of an overwrite of a file that was seen whole and is unchanged, with the given fields replaced. */
export function facts(changes: Partial<Facts> = {}): Facts {
  return {
    action: 'overwrite',
    path: 'a.txt',
    target: FILE,
    nowMs: SEEN_AT + 1000,
    sighting: sighting(),
    freshness: 'same',
    ...changes,
  };
}

export function policy(changes: Partial<Policy> = {}): Policy {
  return { ...PRESETS.default, ...changes };
}

/**
 * The result of a rule as a short text for tables: the code of a refusal, the kinds of the notices,
 * or the kind of the result (such as `pass`).
 */
export function says(rule: JudgeRule, of: Facts, under: Policy = policy()): string {
  const ruling = rule(of, under);
  if (ruling.kind === 'refuse') return ruling.refusal.code;
  if (ruling.kind === 'note') return ruling.notices.map((notice) => notice.kind).join(' ');
  return ruling.kind;
}
