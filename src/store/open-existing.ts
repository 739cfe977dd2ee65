import { statSync } from 'node:fs';
import { isMissing } from '../model/errno.ts';
import { FileImages } from './images/file-images.ts';
import type { Images } from './images.ts';
import { isFleetUrl, openStore } from './open-store.ts';
import type { FleetView } from './state.ts';
import type { Store } from './store.ts';

/** The recorded data, without the parts that only processes that make changes need. */
export interface RecordedState {
  readonly store: Store;
  readonly images: Images;
  /** Present if several machines share the store. */
  readonly fleet?: FleetView;
}

/** Opens the recorded data. A missing local store counts as empty or is created, depending on `missing`. */
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
 * Opens a store only for reading. A missing database counts as empty and is not created. A database that exists but
 * cannot be opened is a Fault, as for `openStore`.
 */
export async function openExistingStore(url: string): Promise<Store> {
  const file = /^sqlite:(?:\/\/)?(\/.+|[A-Za-z]:.+)$/s.exec(url)?.[1];
  return openStore(file !== undefined && !mayBeThere(file) ? 'memory:' : url);
}

/** False only if the file is certainly missing. Other errors are reported better by the code that opens it. */
function mayBeThere(file: string): boolean {
  try {
    // Not `throwIfNoEntry`: from Node 22 on, a file in place of a parent folder would also count as no entry.
    statSync(file);
    return true;
  } catch (error) {
    return !isMissing(error);
  }
}
