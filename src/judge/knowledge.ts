import type { Sighting } from '../model/sighting.ts';
import type { Absence, Facts } from './facts.ts';

/** What the session knows about the target: a valid sighting, or the reason why there is none. */
type Knowledge =
  | { readonly known: true; readonly sighting: Sighting }
  | { readonly known: false; readonly absence: Absence; readonly seenAtMs?: number };

/** Separates valid sightings from tombstones, stubs and listings of a folder that is now a file. */
export function knowledgeOf(facts: Facts): Knowledge {
  const { sighting } = facts;
  if (sighting === undefined) return { known: false, absence: facts.absence ?? 'never' };
  if (isStub(sighting))
    return { known: false, absence: sighting.lost ?? 'forgotten', seenAtMs: sighting.atMs };
  if (sighting.tombstone === true && facts.target.exists)
    return { known: false, absence: 'recreated', seenAtMs: sighting.atMs };
  if (sighting.how === 'listing' && facts.target.exists && facts.target.kind !== 'directory')
    return { known: false, absence: 'never' };
  return { known: true, sighting };
}

/** True if only the reason is left of a sighting: no coverage and no baseline. */
export function isStub(sighting: Sighting): boolean {
  return sighting.lost !== undefined && sighting.fingerprint === undefined && sighting.stamp === undefined;
}

/** True if the content to write equals the current content, so that nothing can be lost. */
export function bringsWhatIsThere(facts: Facts): boolean {
  const { action, contentHash, currentHash } = facts;
  return action === 'overwrite' && contentHash !== undefined && contentHash === currentHash;
}
