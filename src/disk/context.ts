import { closeSync, mkdirSync, openSync, statfsSync } from 'node:fs';
import { devNull } from 'node:os';
import { join } from 'node:path';
import { nativeExtensions } from '../lock/native-package.ts';
import { errnoOf, Fault } from '../model/fault.ts';
import type { ResolvedPath } from '../model/path.ts';
import type { Durability } from '../model/policy.ts';
import { FileSystemClock, FileSystemSync, FolderSyncs } from './file-system.ts';
import { HeldFiles } from './held-files.ts';

/**
 * The steps of a commit (one change on disk). No commit has all of them. A test can make any step
 * fail, or kill the process at any step.
 */
type CommitStep =
  | 'temp-open'
  | 'temp-write'
  | 'temp-attributes'
  | 'temp-sync'
  | 'compare'
  | 'exchange'
  | 'claim'
  | 'verify'
  | 'publish'
  | 'retain'
  | 'folder-sync';

/** The state that all file changes of this process share. */
export interface DiskContext {
  readonly clock: FileSystemClock;
  /** Id of the change that is being made. Temporary names contain it. */
  readonly change: string;
  /** The shelf: the folder to which changes move the files that they replace or remove. */
  readonly retained: string;
  /**
   * Replaced or removed files that are not on the file system of `retained`, and so could only be
   * copied there. The originals stay open for a while, so that late writes to them are noticed.
   */
  readonly held: HeldFiles;
  readonly durability: Durability;
  /** Set during a batch of changes: the durability that one common sync at its end must achieve. */
  readonly batch?: Durability;
  readonly sync: FileSystemSync;
  readonly folders: FolderSyncs;
  /**
   * The native helper (`fs-native-extensions`). Undefined if it does not work on this machine, or
   * if `DiskOptions.commit` is `claim`: `replace` then uses `publishByClaim`.
   */
  readonly native: NativeFiles | undefined;
  /** Called before each step of a commit. */
  readonly trace?: (step: CommitStep) => void;
  /** Closes the files that this context holds open. */
  close(): void;
}

interface DiskOptions {
  /** Our state folder; never inside a workspace. */
  readonly home: string;
  /** Identifies this process. Changes without an id of their own use it in temporary names. */
  readonly owner: string;
  readonly durability: Durability;
  /**
   * `exchange`: swap the old and the new file atomically, where the system can. `claim`: use
   * `publishByClaim` always, for tests.
   */
  readonly commit?: 'exchange' | 'claim';
  readonly trace?: (step: CommitStep) => void;
}

export function openDisk(options: DiskOptions): DiskContext {
  const retained = join(options.home, 'retained');
  mkdirSync(retained, { recursive: true, mode: 0o700 });
  const clock = new FileSystemClock(join(options.home, 'clock'));
  const held = new HeldFiles();
  return {
    clock,
    change: options.owner,
    retained,
    held,
    durability: options.durability,
    sync: new FileSystemSync(),
    folders: new FolderSyncs(),
    native: options.commit === 'claim' ? undefined : loadNative(),
    ...(options.trace === undefined ? {} : { trace: options.trace }),
    close: () => {
      held.close();
      clock.close();
    },
  };
}

/** The functions we use of fs-native-extensions: atomic exchange of two names, and extended attributes. */
export interface NativeFiles {
  /** renameat2(RENAME_EXCHANGE), or RENAME_SWAP on macOS. Both names must exist, on one file system. */
  swapSync(from: string, to: string): void;
  listAttrsSync(fd: number): Iterable<string>;
  getAttrSync(fd: number, name: string): Buffer | null;
  setAttrSync(fd: number, name: string, value: Buffer): void;
  removeAttrSync(fd: number, name: string): void;
}

/**
 * The native helper (`fs-native-extensions`), or undefined if it has no build for this machine. Not
 * used on Windows, where its swap is not atomic.
 */
export function loadNative(): NativeFiles | undefined {
  if (process.platform === 'win32') return undefined;
  try {
    // The package has no types; `NativeFiles` declares the part we use.
    return nativeExtensions() as NativeFiles;
  } catch {
    // Continue without this optional dependency: `replace` then uses `publishByClaim`, and copies
    // no extended attributes.
    return undefined;
  }
}

/** A change of fewer files syncs them one by one, which costs less than running the `sync` program twice. */
export const BATCH_FILES = 16;

/** A context for many changes. They skip syncing; the caller syncs all of them together. */
export function batchContext(context: DiskContext): DiskContext {
  return {
    ...context,
    durability: 'none',
    batch: context.durability,
  };
}

/**
 * A context that syncs one change of a batch immediately, instead of with the batch's common sync.
 */
export function unbatched(context: DiskContext): DiskContext {
  const { batch, ...rest } = context;
  return batch === undefined ? context : { ...rest, durability: batch };
}

/**
 * The number of descriptors that undoing one step needs: for the file, its folder, a temporary
 * file, and the folders on the path.
 */
const RESERVED = 8;

/**
 * Opens spare descriptors and returns a function that closes them. If a change of several files
 * runs out of descriptors, closing the spares makes room to undo its steps. Throws if not all
 * spares can be opened.
 */
export function reserveDescriptors(): () => void {
  const held: number[] = [];
  const release = (): void => {
    for (const fd of held.splice(0)) closeSync(fd);
  };
  try {
    while (held.length < RESERVED) held.push(openSync(devNull, 'r'));
    return release;
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Turns a system error during a change into a fault that names the target, not the temporary file
 * or the handle.
 */
export function changeFailed(context: DiskContext, error: unknown, path: ResolvedPath): Fault {
  if (error instanceof Fault) return error;
  const why = errnoOf(error);
  const message = why === undefined ? String(error) : (fullState(why, context, path) ?? MEANING[why] ?? why);
  return new Fault('IO_FAILED', `could not change ${path.given}: ${message}`, {
    cause: error,
    path: path.given,
    ...(why === undefined ? {} : { reason: why }),
  });
}

/**
 * The meaning of an error if the disk of the state folder is full and that of the target is not: a
 * change moves the old file into the state folder. Undefined for any other error.
 */
function fullState(why: string, { retained }: DiskContext, { root }: ResolvedPath): string | undefined {
  if (why !== 'ENOSPC' || !isFull(retained) || isFull(root)) return undefined;
  return 'no space left on the disk of the state folder (ENOSPC)';
}

/** With less free space than this, a disk counts as full: the write that failed may have been larger. */
export const FULL_BYTES: number = 1 << 20;

/** True if the disk of a folder has no space or no room for new files. False if that cannot be determined. */
function isFull(folder: string): boolean {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(folder);
    return bavail * bsize < FULL_BYTES || (files > 0 && ffree === 0);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

const MEANING: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the device (ENOSPC)',
  EDQUOT: 'the disk quota is used up (EDQUOT)',
  ENOENT: 'its folder is gone (ENOENT)',
  EIO: 'the device reported an error (EIO)',
  EROFS: 'the file system is mounted read-only (EROFS)',
  EACCES: 'permission denied in its folder (EACCES)',
  EPERM: 'the operation is not permitted (EPERM)',
  EMFILE: 'this process has too many open files (EMFILE)',
  ENFILE: 'the system has too many open files (ENFILE)',
  EBUSY: 'it is a mount point, or the system keeps it busy (EBUSY)',
  EXDEV: 'its new place is on another file system (EXDEV)',
  ENAMETOOLONG: 'the name is too long (ENAMETOOLONG)',
};
