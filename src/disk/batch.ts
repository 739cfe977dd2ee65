import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { DiskContext } from './context.ts';

/** Fewer files than this are synced one by one: two runs of `sync` would cost more. */
export const BATCH_FILES = 16;

/**
 * A context for a change of several files. Displaced files stay in our own folder until all steps
 * are done. If a step fails, they move back from there without rewriting their bytes.
 */
export function severalContext(context: DiskContext): DiskContext {
  const { imageName: _, ...rest } = context;
  return rest;
}

/** A context for many changes. They skip syncing; the caller syncs all of them together. */
export function batchContext(context: DiskContext): DiskContext {
  return { ...severalContext(context), durability: 'none', batch: context.durability };
}

/** A context for one change in a batch that must be durable by itself. */
export function unbatched(context: DiskContext): DiskContext {
  const { batch, ...rest } = context;
  return batch === undefined ? context : { ...rest, durability: batch };
}

/**
 * The descriptors that undoing one step needs: the file, its folder, a file of ours, and the
 * folders on the path.
 */
const RESERVED = 8;

/**
 * Opens spare descriptors and returns a function that closes them. A change of several files holds
 * them from before its first step. If descriptors run out, closing the spares makes room to undo
 * the steps done. Throws if too few are available.
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
