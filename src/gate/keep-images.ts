import { hash } from 'node:crypto';
import type { Content } from '../disk/content.ts';
import { BATCH_FILES } from '../disk/context.ts';
import { readSnapshot } from '../disk/read.ts';
import type { Effect } from '../model/entry.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { AnnouncedImages } from '../store/store.ts';
import { isSecretPath } from '../text/secrets.ts';
import type { Displaced } from './step.ts';
import type { World } from './world.ts';

/**
 * Stores the displaced files of a change as before-images. They are already outside the workspace, so this only
 * renames.
 */
export async function keepImages(world: World, displaced: readonly Displaced[]): Promise<void> {
  for (const { file, sha256, size, bytes } of displaced) {
    await world.images.adopt(file, { sha256, size }, { durability: 'none', bytes });
    world.baselines.kept(sha256);
  }
  if (world.policy.durability === 'full') await syncImages(world, displaced);
}

/** The content of an image, for a file to be written. Files too large to load come in chunks. */
export async function keptContent({ images, policy }: World, fingerprint: Fingerprint): Promise<Content> {
  if (fingerprint.size > policy.maxEditBytes)
    return { fingerprint, chunks: () => images.chunks(fingerprint) };
  return { fingerprint, bytes: await images.read(fingerprint) };
}

/** Makes stored images durable. Many local files are synced together. */
async function syncImages({ images, disk }: World, displaced: readonly Displaced[]): Promise<void> {
  const isMany = images.placeOf === undefined && displaced.length >= BATCH_FILES;
  if (isMany && (await disk.sync.works(disk.retained))) return disk.sync.sync([disk.retained]);
  return images.sync(displaced.map(({ sha256 }) => sha256));
}

/** Limit for the before-images in one announcement; larger sets are stored one by one before it. */
const MAX_ANNOUNCED_BYTES = 16 << 20;

/**
 * The before-images of a change, for a store that keeps them in the transaction of the announcement. Undefined for
 * stores that keep images after the change.
 */
export async function imagesToAnnounce(
  world: World,
  effects: readonly Effect[],
): Promise<AnnouncedImages | undefined> {
  const { images } = world;
  if (images.placeOf === undefined) return undefined;
  const shared = new Map<string, AnnouncedImages['shared'][number]>();
  const here = new Map<string, Fingerprint>();
  let total = 0;
  for (const effect of effects) {
    const fingerprint = displacedBy(effect);
    if (fingerprint === undefined || shared.has(fingerprint.sha256)) continue;
    if (images.placeOf(fingerprint, isSecretPath(effect.relative) ? 'secret' : 'plain') === 'here') {
      here.set(fingerprint.sha256, fingerprint);
      continue;
    }
    const bytes = await bytesOf(world, effect.key, fingerprint);
    if (bytes === undefined) continue;
    total += bytes.byteLength;
    if (total > MAX_ANNOUNCED_BYTES) await images.keepBytes(bytes, fingerprint);
    else shared.set(fingerprint.sha256, { fingerprint, bytes });
  }
  return { shared: [...shared.values()], here: [...here.values()] };
}

/** The file that an effect displaces. A file that only moves is not displaced. */
function displacedBy({ before, movedTo }: Effect): Fingerprint | undefined {
  return before.kind === 'file' && movedTo === undefined ? before.fingerprint : undefined;
}

/** The bytes of a file, or undefined if it changed a moment ago. The displaced bytes are then kept after the change. */
async function bytesOf(world: World, key: string, fingerprint: Fingerprint): Promise<Uint8Array | undefined> {
  const bytes = world.baselines.peek(fingerprint) ?? (await bytesAt(world, key));
  return bytes !== undefined && hash('sha256', bytes) === fingerprint.sha256 ? bytes : undefined;
}

async function bytesAt(world: World, key: string): Promise<Uint8Array | undefined> {
  const outcome = world.workspace.locate(key, 'status', 'parents');
  if (!outcome.ok) return undefined;
  try {
    const snapshot = await readSnapshot(outcome.located.place, { clock: world.disk.clock });
    return 'problem' in snapshot ? undefined : snapshot.bytes;
  } finally {
    outcome.located.place.dir.close();
  }
}
