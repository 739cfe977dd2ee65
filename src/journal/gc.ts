import type { ImageUsage } from '../store/images.ts';
import type { GcPlan, GcSetting } from './gc-plan.ts';
import { imagesOfPending, lastUses } from './image-use.ts';

export interface GcProgress {
  readonly phase: 'entries' | 'images' | 'sessions';
  readonly done: number;
  readonly total: number;
}

export interface GcResult {
  readonly entries: number;
  readonly sessions: number;
  readonly images: ImageUsage;
}

const ENTRIES_STEP = 10_000;
const IMAGES_STEP = 500;

/**
 * Carries out a plan. Removes entries before their images: an interruption leaves images that the
 * next run finds, never entries without images. Keeps images that have become needed since
 * planning.
 */
export async function collectGarbage(
  { store, images }: GcSetting,
  plan: GcPlan,
  onProgress: (progress: GcProgress) => void = () => {},
): Promise<GcResult> {
  let entries = 0;
  const first = plan.throughSeq - plan.entries;
  for (let done = 0; done < plan.entries; ) {
    done = Math.min(done + ENTRIES_STEP, plan.entries);
    entries += await store.prune(first + done);
    onProgress({ phase: 'entries', done, total: plan.entries });
  }

  const needed = async (): Promise<ReadonlySet<string>> => {
    // Query pending changes first: a change that settles between the two queries shows up in the second.
    const pending = imagesOfPending(await store.pending());
    const since = await lastUses(store, { afterSeq: plan.headSeq });
    return new Set([...pending, ...since.keys()]);
  };
  // Sorted by name, so that each step touches few folders.
  const hashes = plan.images.map((image) => image.sha256).sort();
  let removed: ImageUsage = { count: 0, bytes: 0 };
  for (let done = 0; done < hashes.length; done += IMAGES_STEP) {
    const step = await images.remove(hashes.slice(done, done + IMAGES_STEP), needed);
    removed = { count: removed.count + step.count, bytes: removed.bytes + step.bytes };
    onProgress({ phase: 'images', done: Math.min(done + IMAGES_STEP, hashes.length), total: hashes.length });
  }

  for (const [index, dropSession] of plan.sessions.entries()) {
    await store.record({ dropSession });
    onProgress({ phase: 'sessions', done: index + 1, total: plan.sessions.length });
  }
  return { entries, sessions: plan.sessions.length, images: removed };
}
