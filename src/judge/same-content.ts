import type { Facts } from './facts.ts';

/** True if the content to write equals the current content, so that nothing can be lost. */
export function bringsWhatIsThere(facts: Facts): boolean {
  const { action, contentHash, currentHash } = facts;
  return action === 'overwrite' && contentHash !== undefined && contentHash === currentHash;
}
