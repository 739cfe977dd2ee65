import { LocalLocks } from '../lock/locks.ts';
import { Fault } from '../model/fault.ts';
import type { Durability } from '../model/policy.ts';
import { FileImages } from './images/file-images.ts';
import { MemoryImages } from './memory/memory-images.ts';
import { isFleetUrl, openStore } from './open-store.ts';
import { localOwner } from './owner.ts';
import { openRevisions } from './revisions.ts';
import type { FleetOptions, State } from './state.ts';

export interface StateOptions {
  /** The state folder. It exists and is private. */
  readonly home: string;
  readonly durability: Durability;
  /** Options for a store that several machines share. */
  readonly fleet?: FleetOptions;
}

/**
 * Opens the state that a URL names: `memory:`, `sqlite:/absolute/file.db` or `postgres://…`. Any other URL is a Fault
 * CONFIG_INVALID.
 */
export async function openState(url: string, options: StateOptions): Promise<State> {
  if (!isFleetUrl(url)) return openLocalState(url, options);
  const { openPostgresState } = await import('./postgres/open.ts');
  return openPostgresState(url, { fleet: { roots: [], imageSecrets: 'here' }, ...options });
}

async function openLocalState(url: string, { home, durability, fleet }: StateOptions): Promise<State> {
  if (fleet?.workspace !== undefined || fleet?.sharedWorkspace === true)
    throw new Fault(
      'CONFIG_INVALID',
      'a workspace name and a shared workspace need a store that machines share: use --store postgres://…',
    );
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
