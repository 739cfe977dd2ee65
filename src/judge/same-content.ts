import type { Facts } from './facts.ts';

/** The content to be written is what is already there: nothing can be lost. */
export function bringsWhatIsThere(facts: Facts): boolean {
  const { contentHash, currentRevision } = facts;
  if (facts.action !== 'overwrite' || contentHash === undefined || currentRevision === undefined)
    return false;
  return contentHash.startsWith(currentRevision);
}
