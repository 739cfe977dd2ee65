import { LocalLocks, type Locks } from '../lock/locks.ts';
import type { Durability } from '../model/policy.ts';

import { FileImages } from './images/file-images.ts';
import type { Images } from './images.ts';
import { MemoryImages } from './memory/memory-images.ts';
import { openStore } from './open-store.ts';
import { localOwner, type Owner } from './owner.ts';
import { openRevisions, type RevisionOf } from './revisions.ts';
import type { Store } from './store.ts';

/** What the processes that work on the same files share. One URL decides where all of it is. */
export interface State {
  readonly store: Store;
  readonly images: Images;
  readonly locks: Locks;
  readonly owner: Owner;
  readonly revisionOf: RevisionOf;
  /** False if nothing outlives this process. */
  readonly shared: boolean;
  close(): Promise<void>;
}

export interface StateOptions {
  /** The state folder. It exists and is private. */
  readonly home: string;
  readonly durability: Durability;
}

/** Opens what a URL names, `memory:` or `sqlite:/absolute/file.db`; another URL is a Fault CONFIG_INVALID. */
export async function openState(url: string, { home, durability }: StateOptions): Promise<State> {
  const store = await openStore(url, { damaged: 'set-aside', durability });
  try {
    const shared = url !== 'memory:';
    const owner = localOwner();
    const revisionOf = openRevisions(home);
    const locks = new LocalLocks({ home, owner: owner.tag, isAlive: owner.isTagAlive });
    const close = async (): Promise<void> => {
      try {
        await store.close();
      } finally {
        locks.close();
      }
    };
    const images = shared ? new FileImages(home, { durability }) : new MemoryImages();
    return { store, images, locks, owner, revisionOf, shared, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}
