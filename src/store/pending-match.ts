import type { PendingChange } from '../model/entry.ts';
import type { PendingFilter } from './store.ts';

/** Implements {@link PendingFilter}, for stores that filter in this process. */
export function matchesPending(pending: PendingChange, { change, owner, keys }: PendingFilter): boolean {
  if (change !== undefined && pending.change !== change) return false;
  if (owner !== undefined && pending.owner !== owner) return false;
  if (keys === undefined) return true;
  return concernedKeys(pending).some((one) => keys.some((other) => overlaps(one, other)));
}

/**
 * The keys whose next writer must check this change first: the keys its process locked, or, without a lock, those it
 * will write.
 */
function concernedKeys({ locked = [], foreign, entry }: PendingChange): readonly string[] {
  return foreign?.hold === 'none' ? (entry.effects ?? []).map(({ key }) => key) : locked;
}

/** True if the paths are equal or one is inside the other. */
function overlaps(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}
