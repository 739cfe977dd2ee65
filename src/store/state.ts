import type { Locks } from '../lock/locks.ts';
import type { Images } from './images.ts';
import type { Owner } from './owner.ts';
import type { RevisionOf } from './revisions.ts';
import type { Store } from './store.ts';

/** What the processes that work on the same files share. One URL decides where all of it is. */
export interface State {
  readonly store: Store;
  readonly images: Images;
  /** Where bytes that sessions were shown are kept, if not among the images. */
  readonly baselines?: Pick<Images, 'has' | 'read' | 'keepBytes'>;
  readonly locks: Locks;
  readonly owner: Owner;
  readonly revisionOf: RevisionOf;
  /** False if nothing outlives this process. */
  readonly shared: boolean;
  close(): Promise<void>;
}

/** How a machine sees the fleet that it belongs to. */
export interface FleetView {
  readonly machine: string;
  /** The name of the workspace that a root is, or the root itself. */
  workspaceOf(root: string): string;
}

/** What a process says about itself to a store that machines share. */
export interface FleetOptions {
  /** Canonical roots. */
  readonly roots: readonly string[];
  /** Which workspace the roots are; default: the one last given for them, else this machine's own. */
  readonly workspace?: string | undefined;
  /** Several machines write to these roots. */
  readonly sharedWorkspace?: boolean | undefined;
  readonly imageSecrets: 'here' | 'shared';
  /** Journal every read, or the first of each minute, session and file. */
  readonly reads?: 'all' | 'summary';
}
