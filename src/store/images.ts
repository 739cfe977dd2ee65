import type { BigIntStats } from 'node:fs';
import { basename } from 'node:path';
import { Fault } from '../model/fault.ts';
import type { Fingerprint, Stamp } from '../model/fingerprint.ts';
import type { Durability } from '../model/policy.ts';
import type { AnnouncedImages } from './store.ts';

/**
 * Syncs a whole file system. For many files (at least `from`), this is faster than syncing them one
 * by one.
 */
export interface WholeSync {
  readonly from: number;
  /** Returns false if the system cannot sync a whole file system. */
  sync(): Promise<boolean>;
}

/**
 * Stores earlier contents of files, so that changes can be undone. Each stored content is called an
 * image. Announce a change (Store.record) before you store its images; otherwise a concurrent
 * clean-up may remove them.
 */
export interface Images {
  /** Larger files cannot be stored. Absent if there is no limit. */
  readonly maxBytes?: number;
  /**
   * Decides where the earlier contents of a changed file are stored. `shared`: in the store of all
   * machines, together with the planned change. `here`: in this machine's state folder. Absent if
   * no other machine shares the store; contents are then stored after the change.
   */
  placeOf?(fingerprint: Fingerprint, content: 'plain' | 'secret'): 'shared' | 'here';
  /**
   * Called after the store has recorded a planned change together with these contents. They need
   * not be stored again.
   */
  announced?(images: AnnouncedImages): void;
  /** Stores bytes whose fingerprint the caller has computed. */
  keepBytes(bytes: Uint8Array, fingerprint: Fingerprint, durability?: Durability): Promise<Kept>;
  /**
   * Stores the file at this path as a hard link. If a program still has the file open, its later
   * writes go to the stored file, where `setAsideLate` finds them. Copies the file if it is on
   * another file system or has other hard links. Throws if the copied bytes do not match the
   * fingerprint.
   */
  keepLink(fromPath: string, fingerprint: Fingerprint, durability?: Durability): Promise<Kept>;
  /**
   * Like `keepLink`, but moves the file instead of linking it. For a file that has already left the
   * workspace: the caller then need not remove it.
   */
  adopt(fromPath: string, fingerprint: Fingerprint, how?: Adoption): Promise<Kept>;
  /**
   * Makes the files of a folder outside the workspace count as images (stored contents). Only
   * writes a list of the files and does not move them: for thousands of files, this is faster than
   * a rename each. `pack` or `remove` moves them later. Does not sync the files. Absent if images
   * are not local files.
   */
  keepTree?(tree: KeptTree): Promise<void>;
  /** True if `keepTree` has listed files of this folder. A clean-up must not remove these files. */
  holdsTree?(folder: string): boolean;
  /** Ends `keepTree` for a folder that has moved back into the workspace. */
  dropTree?(folder: string): void;
  /**
   * Returns a free name in the folder of stored contents. The caller may rename a file with these
   * bytes to it, and then calls `adopt`. Undefined if no name is free, or if the file must be
   * copied, for example because it has other hard links. Absent if contents are not local files.
   */
  freeName?(fingerprint: Fingerprint, stats: BigIntStats): string | undefined;
  /**
   * Syncs stored bytes and their names to the disk, so that they survive a power cut. Ignores
   * hashes whose bytes are missing, or that this process has synced before. `whole` replaces the
   * syncs of many single files.
   */
  sync(hashes: readonly string[], whole?: WholeSync): Promise<void>;
  /**
   * Restricts files that `adopt` has stored to their owner (0600). Call it only after the journal
   * has recorded the change: until then, a failure may put the file back, with its original mode.
   * `mode`: the file's present mode, if known.
   */
  makePrivate(images: readonly { readonly sha256: string; readonly mode?: bigint | undefined }[]): void;
  /** True if the content is stored. Default purpose: `read`. */
  has(sha256: string, purpose?: ImagePurpose): Promise<boolean>;
  /** Like `has`, for this machine only. Absent if no other machine shares the store. */
  hasHere?(sha256: string, purpose?: ImagePurpose): Promise<boolean>;
  /** Like `keepBytes`, for this machine only. Absent if no other machine shares the store. */
  keepHere?(bytes: Uint8Array, fingerprint: Fingerprint, durability?: Durability): Promise<Kept>;
  /**
   * The name of another machine that has this content in its state folder; undefined if there is
   * none. For a content that `has` does not find. Absent if no other machine shares the store.
   */
  keeper?(sha256: string): Promise<string | undefined>;
  /**
   * Returns exactly the stored bytes, verified by their hash, or throws a Fault. A program that had
   * the file open before it was replaced may still write into the stored file. Bytes that it
   * appended are left out. Bytes that it overwrote are lost, and the Fault says so.
   */
  read(fingerprint: Fingerprint): Promise<Uint8Array>;
  /**
   * Like `read`, in chunks, for files too large for memory. A Fault about wrong bytes comes only
   * after the last chunk, so do not use any chunk before the end.
   */
  chunks(fingerprint: Fingerprint): AsyncIterable<Uint8Array>;
  /** Writes the bytes to a new file (0600; fails if the name is taken). Removes the file if the bytes are damaged. */
  copyTo(fingerprint: Fingerprint, toPath: string): Promise<void>;
  /**
   * Checks the stored bytes. A program that had the file open before it was replaced may have
   * changed them.
   */
  check(fingerprint: Fingerprint): Promise<ImageHealth>;
  /**
   * Finds stored files that a program has changed: it had opened the file before Lookfirst replaced
   * and stored it, and still writes into it. Renames each to a separate name and reports it once. If
   * the caller stops at one, the next call reports it again. If possible, stores the original bytes
   * again under the regular name.
   */
  setAsideLate(fingerprints: readonly Fingerprint[]): AsyncIterable<LateImage>;
  /**
   * Moves a file into the folder of stored contents, because a program changed the file after its
   * bytes were stored. `setAsideLate` then reports it. Returns false if the file cannot be moved.
   */
  adoptLate(fromPath: string, sha256: string): boolean;
  list(): AsyncIterable<KeptImage>;
  usage(): Promise<ImageUsage>;
  /**
   * Compresses stored contents that no program writes to any more. Returns their number and the
   * bytes saved. Absent if contents are not stored as files.
   */
  pack?(when: PackRequest): Promise<ImageUsage>;
  /**
   * Removes stored contents, except those that `needed` returns. `needed` is called while the
   * contents are hidden, because a new change may have come to rely on one. Returns the number and
   * size of the removed ones.
   */
  remove(hashes: readonly string[], needed: () => Promise<ReadonlySet<string>>): Promise<ImageUsage>;
}

/**
 * Why a caller checks for a stored content. `read`: to read it now. `rely`: an announced change
 * needs it. For `rely`, a content that a clean-up has hidden is missing: the clean-up may have
 * listed the needed contents before the announcement.
 */
export type ImagePurpose = 'read' | 'rely';

export interface PackRequest {
  readonly nowMs: number;
  /** When it aborts, compressing stops after the current file. */
  readonly signal?: AbortSignal;
}

/** Stats of a file outside the workspace. */
export type AdoptedStats = Pick<BigIntStats, 'nlink' | 'mode'>;

export interface Adoption {
  readonly durability?: Durability;
  /** The file's stats, if the caller has read them since the file left the workspace. Saves reading them again. */
  readonly stats?: AdoptedStats | undefined;
  /** The file's bytes when it left the workspace, for implementations that do not store files. */
  readonly bytes?: Uint8Array | undefined;
}

/**
 * A folder outside the workspace, and the files in it whose contents must stay available for an
 * undo.
 */
export interface KeptTree {
  readonly folder: string;
  readonly files: readonly TreeFile[];
}

export interface TreeFile {
  /** The path relative to the folder. */
  readonly name: string;
  readonly fingerprint: Fingerprint;
  /**
   * The file's stamp when it held exactly these bytes. If the file still has this stamp, it still
   * holds them.
   */
  readonly stamp: Stamp;
}

/**
 * `linked`: the file itself was stored. `copied`: its bytes were copied. `shared`: the same bytes
 * were stored already.
 */
export type Kept = 'linked' | 'copied' | 'shared';

/**
 * `intact`: the file holds the original bytes. `appended`: it begins with them and is longer.
 * `changed`: it does not begin with them. `missing`: there is no file.
 */
export type ImageHealth = 'intact' | 'appended' | 'changed' | 'missing';

/**
 * A file that a program wrote to after the file was replaced or deleted, because the program still
 * had it open.
 */
export interface LateImage {
  /** Hash of the original bytes. */
  readonly sha256: string;
  /** The present path of the changed file. It is removed together with the stored original. */
  readonly file: string;
  /** True if the write overwrote the only copy of the original bytes. */
  readonly lost: boolean;
}

export interface KeptImage {
  readonly sha256: string;
  readonly bytes: number;
  /** Time when the content was stored, or when its file or database row was last updated. */
  readonly sinceMs: number;
}

export interface ImageUsage {
  readonly count: number;
  readonly bytes: number;
}

const NOT_KEPT = 'not-kept';

export function missingImage(sha256: string): Fault {
  return new Fault(
    'STORE_FAILED',
    `the bytes ${sha256.slice(0, 12)} are not kept: they never were, or a clean-up removed them`,
    { reason: NOT_KEPT },
  );
}

export function damagedImage(sha256: string, file: string): Fault {
  return new Fault(
    'STORE_FAILED',
    `the kept bytes ${sha256.slice(0, 12)} were overwritten after they were kept and cannot be restored; ` +
      `what is left of them is in ${file}`,
    { path: file, reason: NOT_KEPT },
  );
}

/** True for the faults of `missingImage` and `damagedImage`. Other faults may end when the call is repeated. */
export function isNotKept(error: unknown): boolean {
  return error instanceof Fault && error.reason === NOT_KEPT;
}

export function changedWhileKept(fromPath: string): Fault {
  const path = shown(fromPath);
  return new Fault('IO_FAILED', `${path} was changed by another program while it was being kept`, { path });
}

export function notKeepable(fromPath: string): Fault {
  const path = shown(fromPath);
  return new Fault('MISUSE', `${path} cannot be kept: it is not a file, or not there`, { path });
}

/** The path for messages. A path through a handle is meaningless to other processes, so only its base name is shown. */
function shown(fromPath: string): string {
  return fromPath.startsWith('/proc/self/fd/') ? basename(fromPath) : fromPath;
}
