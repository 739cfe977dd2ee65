import { statSync } from 'node:fs';
import { openStore } from './open-store.ts';
import type { Store } from './store.ts';

/**
 * Opens a store only to look at it: a database that is not there is an empty store, and looking does not make it.
 * What is there and cannot be opened is a Fault, as for `openStore`.
 */
export async function openExistingStore(url: string): Promise<Store> {
  const file = /^sqlite:(?:\/\/)?(\/.+|[A-Za-z]:.+)$/s.exec(url)?.[1];
  return openStore(file !== undefined && isMissing(file) ? 'memory:' : url);
}

/** Whatever else keeps us from looking is told better by who opens it. */
function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}
