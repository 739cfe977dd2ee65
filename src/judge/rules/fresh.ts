import type { Policy } from '../../model/policy.ts';
import { type Sighting, showsAll } from '../../model/sighting.ts';
import type { Facts } from '../facts.ts';
import { knowledgeOf } from '../knowledge.ts';
import { no, note, PASS, type Rule, type Ruling } from '../rule.ts';
import { bringsWhatIsThere } from '../same-content.ts';

/**
 * What was seen still is as it was seen. Other bytes are always stale, same bytes never (but for seed B's rule, to which
 * another time is a change as well). A check that could not be made is UNVERIFIABLE, not stale.
 */
export const fresh: Rule = (facts, policy) => {
  const knowledge = knowledgeOf(facts);
  if (policy.staleness === 'off' || !knowledge.known) return PASS;
  if (!facts.target.exists || facts.target.kind !== 'file') return PASS;
  const { sighting } = knowledge;
  if (repeatsRefused(facts, sighting, policy)) return stale(facts, sighting, 'repeated');
  // Seed B goes by time: another time is a change, whatever the bytes.
  if (policy.freshness === 'mtime' && facts.otherTime === true) return changed(facts, sighting, policy);
  switch (facts.freshness ?? 'unknown') {
    case 'same':
      return facts.cameBack === true ? note({ kind: 'came-back' }) : PASS;
    case 'changed':
      return changed(facts, sighting, policy);
    default:
      return unknown(facts, sighting, policy);
  }
};

function changed(facts: Facts, sighting: Sighting, policy: Policy): Ruling {
  if (bringsWhatIsThere(facts)) return PASS;
  if (policy.staleness === 'warn') return warn(facts, sighting);
  const anchored = facts.action === 'edit' || facts.action === 'insert';
  if (policy.staleness === 'merge' && anchored) return { kind: 'carry' };
  return stale(facts, sighting, undefined);
}

/** Content that was refused as STALE was written before the change was shown; showing it did not make it aware of it. */
function repeatsRefused(facts: Facts, sighting: Sighting, policy: Policy): boolean {
  const { staleness } = policy;
  if (facts.action !== 'overwrite' || facts.contentHash === undefined) return false;
  if (staleness === 'warn' || staleness === 'confirm') return false;
  return facts.contentHash === sighting.refusedContent && !bringsWhatIsThere(facts);
}

function stale(facts: Facts, sighting: Sighting, reason: string | undefined): Ruling {
  const detail = {
    reason,
    // Whoever repeats itself has been shown all there is, and may say so with the revision.
    revision: reason === 'repeated' && hasSeenAll(facts, sighting) ? facts.currentRevision : undefined,
    seenAtMs: sighting.atMs,
    mtimeMs: facts.target.exists ? facts.target.mtimeMs : undefined,
    seenMtimeMs: seenMtimeMs(sighting),
    writer: facts.writer,
  };
  return no(facts, { code: 'STALE', next: 'read_again', detail });
}

function hasSeenAll({ freshness }: Facts, { coverage, flags }: Sighting): boolean {
  return freshness === 'same' && coverage.kind === 'whole' && showsAll(flags);
}

function unknown(facts: Facts, sighting: Sighting, policy: Policy): Ruling {
  const why = facts.errno === undefined ? '' : ` (${facts.errno})`;
  if (policy.verificationErrors === 'allow' || policy.staleness === 'warn')
    return note({ kind: 'stale-warning', text: `file could not be checked for changes${why}` });
  const detail = { errno: facts.errno, seenAtMs: sighting.atMs };
  return no(facts, { code: 'UNVERIFIABLE', next: 'read_again', detail });
}

function warn(facts: Facts, sighting: Sighting): Ruling {
  return note({ kind: 'stale-warning', text: whatDiffers(facts, sighting) });
}

/** Seed D's reason: both times and both sizes, as far as they are known. */
function whatDiffers(facts: Facts, sighting: Sighting): string {
  const parts: string[] = [];
  const then = seenMtimeMs(sighting);
  const now = facts.target.exists ? facts.target.mtimeMs : undefined;
  if (then !== undefined && now !== undefined) parts.push(`mtime: ${seconds(then)} → ${seconds(now)}`);
  const size = sighting.fingerprint?.size;
  if (size !== undefined && facts.target.exists) parts.push(`size: ${size} → ${facts.target.sizeBytes}`);
  return parts.length === 0 ? 'file modified externally' : `file modified externally (${parts.join(', ')})`;
}

function seenMtimeMs(sighting: Sighting): number | undefined {
  return sighting.stamp === undefined ? undefined : Number(sighting.stamp.mtimeNs / 1_000_000n);
}

/** RFC 3339 in UTC, to the second. */
function seconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
