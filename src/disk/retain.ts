import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../model/errno.ts';
import type { DiskContext } from './context.ts';

let count = 0;

/**
 * Moves a displaced file out of the workspace into our own folder and returns where it is. The inode itself moves, not
 * a copy of its bytes: someone who still has it open writes into what we keep. Across file systems it is copied.
 */
export function retain(context: DiskContext, from: string): string {
  context.trace?.('retain');
  const to = freshName(context);
  try {
    renameSync(from, to);
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL);
    syncFile(context, to);
    unlinkSync(from);
  }
  return to;
}

/** Keeps bytes that have no name any more. */
export function retainBytes(context: DiskContext, bytes: Uint8Array): string {
  const to = freshName(context);
  const fd = openSync(to, 'wx', 0o600);
  try {
    for (let done = 0; done < bytes.byteLength; ) done += writeSync(fd, bytes, done);
    if (context.durability !== 'none') fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  return to;
}

function freshName(context: DiskContext): string {
  count += 1;
  return join(context.retained, `${Date.now()}-${process.pid}-${count}`);
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
