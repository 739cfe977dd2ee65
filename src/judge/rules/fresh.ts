import type { Policy } from '../../model/policy.ts';
import { type Sighting, showsAll } from '../../model/sighting.ts';
import { utcSeconds } from '../../report/evidence.ts';
import { bringsWhatIsThere, type Facts, knowledgeOf } from '../facts.ts';
import { type JudgeRule, no, note, PASS, type Ruling } from '../ruling.ts';

/**
 * Requires that the file is unchanged since it was seen. Different bytes are always stale; equal bytes are not, except
 * in the preset `file-time`, where a different time also counts as a change. A check that fails with an error is
 * UNVERIFIABLE, not stale.
 */
export const fresh: JudgeRule = (facts, policy) => {
  const knowledge = knowledgeOf(facts);
  if (policy.staleness === 'off' || !knowledge.known) return PASS;
  if (!facts.target.exists || facts.target.kind !== 'file') return PASS;
  const { sighting } = knowledge;
  if (repeatsRefused(facts, sighting, policy)) return stale(facts, sighting, 'repeated');
  // In the preset `file-time` a different modification time is a change, even with equal bytes.
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

/**
 * True if this content was already refused as STALE. The model wrote it before it saw the change, so it cannot take the
 * change into account.
 */
function repeatsRefused(facts: Facts, sighting: Sighting, policy: Policy): boolean {
  const { staleness } = policy;
  if (facts.action !== 'overwrite' || facts.contentHash === undefined) return false;
  if (staleness === 'warn' || staleness === 'confirm') return false;
  return facts.contentHash === sighting.refusedContent && !bringsWhatIsThere(facts);
}

function stale(facts: Facts, sighting: Sighting, reason: string | undefined): Ruling {
  const detail = {
    reason,
    // A session that repeats refused content and has seen the whole file may send the revision to confirm it.
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

/** The reason in the wording of the preset `staleness`: both times and both sizes, as far as they are known. */
function whatDiffers(facts: Facts, sighting: Sighting): string {
  const parts: string[] = [];
  const then = seenMtimeMs(sighting);
  const now = facts.target.exists ? facts.target.mtimeMs : undefined;
  if (then !== undefined && now !== undefined) parts.push(`mtime: ${utcSeconds(then)} → ${utcSeconds(now)}`);
  const size = sighting.fingerprint?.size;
  if (size !== undefined && facts.target.exists) parts.push(`size: ${size} → ${facts.target.sizeBytes}`);
  return parts.length === 0 ? 'file modified externally' : `file modified externally (${parts.join(', ')})`;
}

function seenMtimeMs(sighting: Sighting): number | undefined {
  return sighting.stamp === undefined ? undefined : Number(sighting.stamp.mtimeNs / 1_000_000n);
}
