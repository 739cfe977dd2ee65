import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { errnoOf, isMissing } from '../model/errno.ts';
import type { DiskContext } from './context.ts';
import { type Copied, copyOut } from './held-files.ts';

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Moves a displaced file out of the workspace into our own folder and returns its new path. Moves
 * the inode rather than its bytes: a process that still has it open writes into the kept file.
 * Across file systems it is copied and held open for a while, so that late writes are kept as well.
 * `image`: a free path among the images, tried first.
 */
export function retain(context: DiskContext, from: string, image?: string): string {
  context.trace?.('retain');
  if (image !== undefined && isRenamed(from, image)) return image;
  const to = freshName(context);
  try {
    inFolder(context, () => renameSync(from, to));
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error;
    retainCopy(context, from, to);
  }
  return to;
}

/** Name prefix of folders in `retained` that we took out of a workspace. */
export const KEPT_FOLDER = 'folder-';

/** Moves a displaced folder and its contents out of the workspace and returns its new path. */
export function retainFolder(context: DiskContext, from: string): string {
  context.trace?.('retain');
  const to = join(context.retained, `${KEPT_FOLDER}${Date.now()}-${randomUUID()}`);
  inFolder(context, () => renameSync(from, to));
  return to;
}

/** Runs `work`, and recreates our folder if it was deleted: displaced files always need a place. */
function inFolder<T>(context: DiskContext, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isMissing(error)) throw error;
    mkdirSync(context.retained, { recursive: true, mode: 0o700 });
    return work();
  }
}

/** False if the rename fails for any system reason: the caller then uses another path. */
function isRenamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

function retainCopy(context: DiskContext, from: string, to: string): void {
  const fd = openSync(from, READ);
  let copy: Copied;
  try {
    copy = copyOut(fd, to);
    syncFile(context, to);
    unlinkSync(from);
  } catch (error) {
    closeSync(fd);
    rmSync(to, { force: true });
    throw error;
  }
  context.held.hold(fd, copy);
}

/** Writes bytes to a new file in our folder and returns its path. */
export function retainBytes(context: DiskContext, bytes: Uint8Array): string {
  const to = freshName(context);
  const fd = inFolder(context, () => openSync(to, 'wx', 0o600));
  try {
    for (let done = 0; done < bytes.byteLength; ) done += writeSync(fd, bytes, done);
    if (context.durability !== 'none') fsyncSync(fd);
  } catch (error) {
    unlinkSync(to);
    throw error;
  } finally {
    closeSync(fd);
  }
  return to;
}

function freshName(context: DiskContext): string {
  // Names must be unique, or a kept file is overwritten: a process and its workers share the folder.
  return join(context.retained, `${Date.now()}-${randomUUID()}`);
}

function syncFile(context: DiskContext, path: string): void {
  if (context.durability === 'none') return;
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
