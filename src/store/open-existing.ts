import { statSync } from 'node:fs';
import { isMissing } from '../model/errno.ts';
import { FileImages } from './images/file-images.ts';
import type { Images } from './images.ts';
import { isFleetUrl, openStore } from './open-store.ts';
import type { FleetView } from './state.ts';
import type { Store } from './store.ts';

/** What was recorded, without what only processes that make changes need. */
export interface RecordedState {
  readonly store: Store;
  readonly images: Images;
  /** Present if machines share the store. */
  readonly fleet?: FleetView;
}

/** Opens what was recorded; a store that is missing is an empty one, or is made. */
export async function openRecordedState(
  url: string,
  home: string,
  missing: 'empty' | 'make',
): Promise<RecordedState> {
  if (isFleetUrl(url)) {
    const { openPostgresRecords } = await import('./postgres/open.ts');
    return openPostgresRecords(url, home);
  }
  const store = await (missing === 'empty' ? openExistingStore(url) : openStore(url));
  return { store, images: new FileImages(home, { durability: 'none' }) };
}

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
