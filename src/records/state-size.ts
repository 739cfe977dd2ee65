import type { Images, ImageUsage } from '../store/images.ts';
import type { Store } from '../store/store.ts';

/** The size of the state on disk. */
export interface StateSize {
  readonly entries: number;
  readonly storeBytes: number;
  readonly images: ImageUsage;
}

export async function stateSize(state: {
  readonly store: Store;
  readonly images: Images;
}): Promise<StateSize> {
  const { head, checkpoint, bytes } = await state.store.state();
  return { entries: head.seq - checkpoint.seq, storeBytes: bytes, images: await state.images.usage() };
}
