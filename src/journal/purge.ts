import type { Effect } from '../model/entry.ts';
import type { Images, ImageUsage } from '../store/images.ts';
import type { Store } from '../store/store.ts';
import { isSecretPath } from '../text/secrets.ts';
import type { GcSetting } from './gc-plan.ts';
import { imagesOfPending } from './image-use.ts';
import { walkEntries } from './journal.ts';

export interface PurgeRequest {
  /**
   * A file or a folder including its contents, existing or not. Undefined: all files whose names
   * indicate secrets.
   */
  readonly key: string | undefined;
  readonly nowMs: number;
  readonly dryRun: boolean;
}

/**
 * Removes every kept image of a file and records that in the journal. Equal bytes are stored once,
 * so the same content of other files is removed too. The file's changes can no longer be undone. A
 * pending change keeps its images.
 */
export async function purgeImages({ store, images }: GcSetting, request: PurgeRequest): Promise<ImageUsage> {
  const hashes = await hashesOf(store, request.key);
  if (request.dryRun) return usageOf(images, hashes);
  const removed = await images.remove([...hashes], async () => imagesOfPending(await store.pending()));
  const whose = request.key === undefined ? ' of secret files' : '';
  const text = `purged ${removed.count} kept ${removed.count === 1 ? 'image' : 'images'}${whose}: earlier changes cannot be undone`;
  // The root `/` contains every workspace, so that every log of the file shows the entry.
  const about =
    request.key === undefined ? { root: '/' } : { root: '/', path: request.key.replace(/^\//, '') };
  const entry = { kind: 'notice', atMs: request.nowMs, session: 'lookfirst', ...about, text } as const;
  await store.record({ entries: [entry] });
  return removed;
}

/** All known contents of the file: before or after a change, or shown to a session. */
async function hashesOf(store: Store, purged: string | undefined): Promise<ReadonlySet<string>> {
  const isPurged = (key = ''): boolean => (purged === undefined ? isSecretPath(key) : isWithin(key, purged));
  const hashes = new Set<string>();
  for await (const { effects = [] } of walkEntries(store, { kinds: ['change'] }))
    for (const sha256 of effects.filter((effect) => isPurged(effect.key)).flatMap(sidesOf))
      hashes.add(sha256);
  for (const { id } of await store.sessions()) {
    const seen = (await store.sightings(id)).filter((sighting) => isPurged(sighting.key));
    for (const { fingerprint } of seen) hashes.add(fingerprint?.sha256 ?? '');
  }
  const reads = { ...(purged === undefined ? {} : { key: purged }), kinds: ['read'] } as const;
  for await (const { sha256 = '', path } of walkEntries(store, reads))
    if (purged !== undefined || isPurged(path)) hashes.add(sha256);
  hashes.delete('');
  return hashes;
}

function sidesOf({ before, after }: Effect): string[] {
  return [before, after].flatMap((side) => (side.kind === 'file' ? [side.fingerprint.sha256] : []));
}

function isWithin(key: string, folder: string): boolean {
  return key === folder || key.startsWith(`${folder}/`);
}

async function usageOf(images: Images, hashes: ReadonlySet<string>): Promise<ImageUsage> {
  let [count, bytes] = [0, 0];
  for await (const image of images.list()) {
    if (!hashes.has(image.sha256)) continue;
    count += 1;
    bytes += image.bytes;
  }
  return { count, bytes };
}
