import type { NewEntry, PendingChange } from '../model/entry.ts';
import type { EntryFilter, Store } from '../store/store.ts';
import { walkEntries } from './journal.ts';

/** The images that undoing an entry needs. */
function imagesOf(entry: NewEntry): string[] {
  const sides = (entry.effects ?? []).flatMap(({ before, after }) => [before, after]);
  return sides.flatMap((side) => (side.kind === 'file' && side.kept ? [side.fingerprint.sha256] : []));
}

/** For each image, the number of the newest matching entry that needs it. */
export async function lastUses(store: Store, filter: EntryFilter): Promise<ReadonlyMap<string, number>> {
  const uses = new Map<string, number>();
  for await (const entry of walkEntries(store, { ...filter, kinds: ['change'], order: 'oldest' }))
    for (const sha256 of imagesOf(entry)) uses.set(sha256, entry.seq);
  return uses;
}

/** The images that pending changes need. */
export function imagesOfPending(pending: readonly PendingChange[]): ReadonlySet<string> {
  return new Set(pending.flatMap(({ entry }) => imagesOf(entry)));
}

/** The hashes of bytes that sessions were shown. Used to show differences, not needed by any undo. */
export async function imagesSeen(store: Store): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  for (const { id } of await store.sessions())
    for (const { fingerprint } of await store.sightings(id))
      if (fingerprint !== undefined) seen.add(fingerprint.sha256);
  return seen;
}
