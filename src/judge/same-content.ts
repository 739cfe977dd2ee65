import type { Facts } from './facts.ts';

/** The content to be written is what is already there: nothing can be lost. */
export function bringsWhatIsThere(facts: Facts): boolean {
  const { action, contentHash, currentHash } = facts;
  return action === 'overwrite' && contentHash !== undefined && contentHash === currentHash;
}
