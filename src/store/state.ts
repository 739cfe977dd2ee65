import type { Locks } from '../lock/locks.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Images } from './images.ts';
import type { Owner } from './owner.ts';
import type { Store } from './store.ts';

/** The resources that processes working on the same files share. One URL determines where they are. */
export interface OpenedState {
  readonly store: Store;
  readonly images: Images;
  readonly locks: Locks;
  readonly owner: Owner;
  /** Computes the revision of exact bytes: a token that can be computed only with the state's key. */
  revisionOf(fingerprint: Fingerprint): string;
  /** False if the state does not outlive this process. */
  readonly shared: boolean;
  /**
   * Present if several machines share the store: the name of this machine, and the names of
   * workspaces.
   */
  readonly fleet?: {
    readonly machine: string;
    /** The name of a root's workspace, or the root itself if its workspace has no name. */
    workspaceOf(root: string): string;
  };
  close(): Promise<void>;
}

/** The journal and the stored file contents, for a process that makes no changes. */
export type RecordedState = Pick<OpenedState, 'store' | 'images' | 'fleet'>;

/**
 * A URL for messages, without any password. May remove more than that, so that a malformed URL
 * cannot show its password.
 */
export function withoutPassword(url: string): string {
  return url.replace(/^(\w+:(?:\/\/)?[^:/?#]*):.*@/s, '$1@').replace(/([?&][^=&]*pass[^=&]*=)[^&]*/gi, '$1…');
}

/** A workspace name that the user gives to folders of this machine. */
interface WorkspaceName {
  readonly workspace: string;
  /** Canonical paths of the folders that get the name. */
  readonly roots: readonly string[];
}

/** The data that a process gives to a store shared by several machines. */
export interface FleetOptions {
  /** Canonical paths of the workspace roots on this machine. */
  readonly roots: readonly string[];
  /**
   * The workspace name of the roots. Default: the name last given to them. Without any name, the
   * workspace belongs to this machine alone.
   */
  readonly workspace?: string | undefined;
  /**
   * A workspace name to save for the folders that the user has given. These folders may differ from
   * `roots`, or have another order.
   */
  readonly saveAs?: WorkspaceName | undefined;
  /**
   * Like `saveAs`, for a process that only reads. The name is not saved, and is ignored if other
   * folders of this machine already have it.
   */
  readonly readAs?: WorkspaceName | undefined;
  /** True if several machines write to these roots. */
  readonly sharedWorkspace?: boolean | undefined;
  readonly imageSecrets: 'here' | 'shared';
}
