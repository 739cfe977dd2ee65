import { statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { LocalLocks } from '../lock/locks.ts';
import { Fault, isMissing } from '../model/fault.ts';
import type { Durability } from '../model/policy.ts';
import { FileBlobs } from './blobs/file-blobs.ts';
import type { Images } from './images.ts';
import { localOwner } from './owner.ts';
import { openRevisions } from './revisions.ts';
import type { OpenOptions } from './sqlite/connection.ts';
import { type FleetOptions, type OpenedState, type RecordedState, withoutPassword } from './state.ts';
import type { Store } from './store.ts';

interface StateOptions {
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
export async function openState(url: string, options: StateOptions): Promise<OpenedState> {
  if (!isFleetUrl(url)) return openLocalState(url, options);
  const { openPostgresState } = await import('./postgres/open.ts');
  return openPostgresState(url, { fleet: { roots: [], imageSecrets: 'here' }, ...options });
}

async function openLocalState(url: string, { home, durability, fleet }: StateOptions): Promise<OpenedState> {
  if ((fleet?.workspace ?? fleet?.saveAs) !== undefined || fleet?.sharedWorkspace === true)
    throw new Fault(
      'CONFIG_INVALID',
      'a workspace name and a shared workspace need a store that machines share: use --store postgres://…',
    );
  const shared = url !== 'memory:';
  const files = shared ? new FileBlobs(home, { durability }) : undefined;
  const { store, images } = withImages(await openStore(url, { damaged: 'set-aside', durability, files }));
  try {
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
    return { store, images, locks, owner, revisionOf, shared, close };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function withImages(store: Store): { readonly store: Store; readonly images: Images } {
  const { url, images } = store;
  if (images === undefined) throw new Fault('MISUSE', `the store ${url} keeps no contents of files`);
  return { store, images };
}

/** True for a store that several machines share. */
export function isFleetUrl(url: string): boolean {
  return /^postgres(?:ql)?:/i.test(url);
}

/** Opens the store a URL names: `memory:` or `sqlite:/absolute/file.db`. Anything else is a Fault CONFIG_INVALID. */
export async function openStore(url: string, options?: OpenOptions): Promise<Store> {
  const isInMemory = url === 'memory:';
  const file = isInMemory ? undefined : /^sqlite:(?:\/\/)?(.+)$/s.exec(url)?.[1];
  if (!isInMemory && (file === undefined || !isAbsolute(file)))
    throw new Fault(
      'CONFIG_INVALID',
      `unknown store ${JSON.stringify(withoutPassword(url))}: use memory:, sqlite: with an absolute path, as in sqlite:/home/me/state.db, or postgres://user@host/database`,
    );
  // Loaded on demand: a fleet must not need a database driver for SQLite.
  const { openMemoryStore, openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  return file === undefined ? openMemoryStore() : openSqliteStore(file, options);
}

interface RecordedOptions {
  readonly home: string;
  /** `empty`: a missing local store counts as empty. `make`: it is created. */
  readonly missing: 'empty' | 'make';
  /**
   * The workspace's name in a store that several machines share. `roots` is used only if the
   * workspace is not known on this machine yet.
   */
  readonly name?: FleetOptions['saveAs'];
  /**
   * The folders that the user works in. If several roots of this machine have the same workspace
   * name, returned paths are in the root that contains one of these folders.
   */
  readonly folders?: readonly string[];
}

export async function openRecordedState(url: string, options: RecordedOptions): Promise<RecordedState> {
  const { home, missing } = options;
  if (isFleetUrl(url)) {
    const { openPostgresRecords } = await import('./postgres/open.ts');
    return openPostgresRecords(url, home, options);
  }
  const reading = { damaged: 'fail', files: new FileBlobs(home, { durability: 'none' }) } as const;
  return withImages(await (missing === 'empty' ? openExistingStore(url, reading) : openStore(url, reading)));
}

/**
 * Opens a store only for reading. A missing database counts as empty and is not created, but a check of its journal
 * fails if it was deleted. A database that exists but cannot be opened is a Fault, as for `openStore`.
 */
export async function openExistingStore(url: string, options?: OpenOptions): Promise<Store> {
  const file = /^sqlite:(?:\/\/)?(\/.+|[A-Za-z]:.+)$/s.exec(url)?.[1];
  if (file === undefined || mayBeThere(file)) return openStore(url, options);
  const { openMemoryStore } = await import('./sqlite/sqlite-store.ts');
  return openMemoryStore(file, options?.files);
}

/**
 * False only if the file is certainly missing. Other errors give true: opening the file reports
 * them better.
 */
function mayBeThere(file: string): boolean {
  try {
    // Do not use `throwIfNoEntry`: from Node 22 on, it also hides the error for a parent that is a
    // file.
    statSync(file);
    return true;
  } catch (error) {
    return !isMissing(error);
  }
}
