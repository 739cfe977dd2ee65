import { statSync } from 'node:fs';
import { isMissing } from '../model/errno.ts';
import { openStore } from './open-store.ts';
import type { Store } from './store.ts';

/**
 * Opens a store only to look at it: a database that is not there is an empty store, and looking does not make it.
 * What is there and cannot be opened is a Fault, as for `openStore`.
 */
export async function openExistingStore(url: string): Promise<Store> {
  const file = /^sqlite:(?:\/\/)?(\/.+|[A-Za-z]:.+)$/s.exec(url)?.[1];
  return openStore(file !== undefined && !mayBeThere(file) ? 'memory:' : url);
}

/** Whatever else keeps us from looking is told better by who opens it. */
function mayBeThere(file: string): boolean {
  try {
    // Not `throwIfNoEntry`: from Node 22 on a file in the place of a folder would count as no entry, too.
    statSync(file);
    return true;
  } catch (error) {
    return !isMissing(error);
  }
}
