import type { DiskContext } from '../disk/context.ts';
import type { LateWatch } from '../disk/shelf.ts';
import type { ActiveGrant } from '../journal/grants.ts';
import type { Locks } from '../lock/locks.ts';
import type { NewEntry } from '../model/entry.ts';
import type { Policy } from '../model/policy.ts';
import type { Processes } from '../process/processes.ts';
import type { Images } from '../store/images.ts';
import type { OpenedState } from '../store/state.ts';
import type { Store } from '../store/store.ts';
import type { Knowledge } from '../views/knowledge.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Baselines } from './baselines.ts';
import type { Claims } from './claims.ts';
import type { KeptFiles } from './host/kept-files.ts';
import type { SettledCalls } from './host/settled-calls.ts';
import type { SecretValues } from './known-secrets.ts';

/** Policy settings that one call may change for itself. */
export type CallSettings = Partial<Pick<Policy, 'seen' | 'staleness'>>;

export function withSettings(world: World, settings: CallSettings | undefined): World {
  return settings === undefined ? world : { ...world, policy: { ...world.policy, ...settings } };
}

/**
 * Everything a gate works with: store, disk, policy and more. Shared by all sessions of one
 * workspace in this process.
 */
export interface World {
  readonly workspace: Workspace;
  readonly disk: DiskContext;
  readonly locks: Locks;
  readonly store: Store;
  readonly images: Images;
  /** The state folder's canonical path. */
  readonly home: string;
  readonly policy: Policy;
  /** The operator's grants for the change being judged. */
  readonly granted?: readonly ActiveGrant[];
  readonly baselines: Baselines;
  /** Looks at the displaced files for late writes. */
  readonly lateWatch: LateWatch;
  /** The files that other sessions are working on. */
  readonly claims: Claims;
  readonly settledCalls: SettledCalls;
  readonly processes: Processes;
  readonly keptFiles: KeptFiles;
  readonly secretValues: SecretValues;
  readonly revisionOf: OpenedState['revisionOf'];
  /** Identifies this process among all that share the store. */
  readonly owner: string;
  isAlive(owner: string): Promise<boolean>;
  now(): number;
}

/** The fields that every journal entry of a session has. `root`: for an entry that concerns no file, the first root. */
export function entryHead(
  { now, workspace }: Pick<World, 'now' | 'workspace'>,
  { author }: Pick<Knowledge, 'author'>,
): Pick<NewEntry, 'atMs' | 'session' | 'turn' | 'root'> {
  return { atMs: now(), ...author, root: workspace.roots[0] ?? '' };
}
