import { hash } from 'node:crypto';
import type { Effect } from '../model/entry.ts';
import { unlessStoreFails } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Durability } from '../model/policy.ts';
import type { Kept } from '../store/images.ts';
import type { AnnouncedImages } from '../store/store.ts';
import { isSecretPath } from '../text/secrets.ts';
import { snapshotAt } from './found.ts';
import type { World } from './world.ts';

/**
 * Stores bytes of the file at a path. In a fleet, bytes of a secret file stay on this machine if the
 * policy says so.
 */
export function keepBytesOf(
  world: World,
  path: string,
  { bytes, fingerprint }: { readonly bytes: Uint8Array; readonly fingerprint: Fingerprint },
  durability?: Durability,
): Promise<Kept> {
  placeOf(world, path, fingerprint);
  return world.images.keepBytes(bytes, fingerprint, durability);
}

/**
 * Decides where the bytes of the file at a path are stored. If the path is that of a secret file,
 * the store remembers that its bytes are secret. Undefined if no other machine shares the store.
 */
export function placeOf(
  { images }: World,
  path: string,
  fingerprint: Fingerprint,
): 'shared' | 'here' | undefined {
  return images.placeOf?.(fingerprint, isSecretPath(path) ? 'secret' : 'plain');
}

/**
 * Maximum bytes of old file contents in the transaction that stores a planned change. Contents
 * beyond it are stored one by one, before that transaction.
 */
const MAX_ANNOUNCED_BYTES = 16 << 20;

/**
 * The old file contents to store in the same transaction as the planned change. Undefined if no
 * other machine shares the store: then they are stored after the change.
 */
export function imagesToAnnounce(
  world: World,
  effects: readonly Effect[],
): Promise<AnnouncedImages | undefined> {
  return imagesToSend(world, effects, (fingerprint, key) => presentBytes(world, key, fingerprint));
}

/**
 * The old file contents to store in the same transaction as the result of a command. They were
 * stored on this machine before the command. Undefined if no other machine shares the store.
 */
export function imagesToSettle(
  world: World,
  effects: readonly Effect[],
): Promise<AnnouncedImages | undefined> {
  const { images } = world;
  return imagesToSend(world, effects, async (fingerprint) => {
    if ((await images.hasHere?.(fingerprint.sha256)) !== true) return undefined;
    // If the stored bytes are damaged, send none: the command's result must still be recorded.
    return unlessStoreFails<Uint8Array | undefined>(
      () => images.read(fingerprint),
      () => undefined,
    );
  });
}

async function imagesToSend(
  world: World,
  effects: readonly Effect[],
  bytesOf: (fingerprint: Fingerprint, key: string) => Promise<Uint8Array | undefined>,
): Promise<AnnouncedImages | undefined> {
  const { images } = world;
  if (images.placeOf === undefined) return undefined;
  const shared = new Map<string, AnnouncedImages['shared'][number]>();
  const here = new Map<string, Fingerprint>();
  let total = 0;
  for (const effect of effects) {
    const fingerprint = displacedBy(effect);
    if (fingerprint === undefined || shared.has(fingerprint.sha256)) continue;
    if (placeOf(world, effect.relative, fingerprint) === 'here') {
      here.set(fingerprint.sha256, fingerprint);
      continue;
    }
    const bytes = await bytesOf(fingerprint, effect.key);
    if (bytes === undefined) continue;
    total += bytes.byteLength;
    if (total > MAX_ANNOUNCED_BYTES) await images.keepBytes(bytes, fingerprint);
    else shared.set(fingerprint.sha256, { fingerprint, bytes });
  }
  return { shared: [...shared.values()], here: [...here.values()] };
}

/**
 * The fingerprint of the file that an effect replaces or removes; undefined if the file only moves.
 */
function displacedBy({ before, movedTo }: Effect): Fingerprint | undefined {
  return before.kind === 'file' && movedTo === undefined ? before.fingerprint : undefined;
}

/**
 * The bytes of a file, or undefined if the file changed and they no longer match the fingerprint.
 * Without them, the replaced bytes are stored after the change.
 */
async function presentBytes(
  world: World,
  key: string,
  fingerprint: Fingerprint,
): Promise<Uint8Array | undefined> {
  const bytes = world.baselines.peek(fingerprint) ?? (await snapshotAt(world, key))?.bytes;
  return bytes !== undefined && hash('sha256', bytes) === fingerprint.sha256 ? bytes : undefined;
}
