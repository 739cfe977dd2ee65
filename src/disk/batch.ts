import type { DiskContext } from './context.ts';

/** Fewer files than this are synced one by one: two runs of `sync` would cost more. */
export const BATCH_FILES = 16;

/**
 * A context for changes of several files: what they displace stays in our own folder until all are done, and goes back from
 * there if one of them fails, without a byte being written.
 */
export function severalContext(context: DiskContext): DiskContext {
  const { imageName: _, ...rest } = context;
  return rest;
}

/** A context for many changes: they leave syncing to the caller, who syncs all of them together. */
export function batchContext(context: DiskContext): DiskContext {
  return { ...severalContext(context), durability: 'none', batch: context.durability };
}

/** The context for one change in a batch that has to be durable by itself. */
export function unbatched(context: DiskContext): DiskContext {
  const { batch, ...rest } = context;
  return batch === undefined ? context : { ...rest, durability: batch };
}
