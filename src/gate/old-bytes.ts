import { chunksAt, readSnapshot, type Unreadable } from '../disk/read.ts';
import type { Delta } from '../model/delta.ts';
import { Fault, unlessStoreFails } from '../model/fault.ts';
import type { Fingerprint } from '../model/fingerprint.ts';
import type { Place } from '../model/path.ts';
import { isChangedWhileKept } from '../store/images.ts';
import type { AnnouncedImages } from '../store/store.ts';
import { isSecretPath } from '../text/secrets.ts';
import type { World } from './world.ts';

/**
 * Stores bytes of the file at a path. In a fleet, bytes of a secret file stay on this machine if the
 * policy says so.
 */
export function keepBytesOf(
  world: World,
  path: string,
  { bytes, fingerprint }: { readonly bytes: Uint8Array; readonly fingerprint: Fingerprint },
): Promise<void> {
  placeOf(world, path, fingerprint);
  return world.images.keepBytes(bytes, fingerprint);
}

/** Makes the stored bytes durable, if the policy asks for that. */
export async function syncImages({ images, policy }: World): Promise<void> {
  if (policy.durability !== 'none') await images.sync();
}

/**
 * Decides where the bytes of the file at a path are stored. If the path is that of a secret file,
 * the store remembers that its bytes are secret.
 */
function placeOf({ images }: World, path: string, fingerprint: Fingerprint): 'shared' | 'here' {
  return images.placeOf(fingerprint, isSecretPath(path) ? 'secret' : 'plain');
}

/**
 * Maximum bytes of old file contents in the transaction that announces a change. Contents beyond it
 * are stored before, in transactions of their own.
 */
const MAX_ANNOUNCED_BYTES = 16 << 20;

/**
 * Stores the contents that a change will destroy, before it is announced: large ones now, in files.
 * Returns the small ones, which belong into the transaction of the announcement.
 */
export function keepOldBytes(world: World, deltas: readonly Delta[]): Promise<AnnouncedImages> {
  return oldBytes(world, deltas, {
    keepHere: (delta, fingerprint) => keepFile(world, delta, fingerprint),
    // The bytes are missing if the file has changed since it was judged: the change will meet a conflict.
    bytesOf: (delta, fingerprint) => presentBytes(world, delta, fingerprint),
    sync: () => syncImages(world),
  });
}

/**
 * The old file contents to store in the same transaction as the result of a command. They were
 * stored on this machine before the command. Undefined if no other machine shares the store.
 */
export async function imagesToSettle(
  { images, ...world }: World,
  deltas: readonly Delta[],
): Promise<AnnouncedImages | undefined> {
  if (images.hasHere === undefined) return undefined;
  return oldBytes({ ...world, images }, deltas, {
    keepHere: () => undefined,
    bytesOf: async (_effect, fingerprint) => {
      if ((await images.hasHere?.(fingerprint.sha256)) !== true) return undefined;
      // If the stored bytes are damaged, send none: the command's result must still be recorded.
      return unlessStoreFails(
        () => images.read(fingerprint),
        () => undefined,
      );
    },
  });
}

interface OldBytes {
  /** Called for contents that must stay on this machine. */
  keepHere(delta: Delta, fingerprint: Fingerprint): Promise<void> | undefined;
  /** For bytes that are not in memory. */
  bytesOf(delta: Delta, fingerprint: Fingerprint): Promise<Uint8Array | undefined>;
  /** Called if some contents were stored in files. */
  sync?(): Promise<void>;
}

/** The small contents that deltas destroy. Larger ones, and those that stay on this machine, are stored at once. */
async function oldBytes(
  world: World,
  deltas: readonly Delta[],
  { keepHere, bytesOf, sync }: OldBytes,
): Promise<AnnouncedImages> {
  const shared = new Map<string, AnnouncedImages['shared'][number]>();
  const here = new Map<string, Fingerprint>();
  let total = 0;
  for (const delta of deltas) {
    const fingerprint = destroyedBy(delta);
    if (fingerprint === undefined || shared.has(fingerprint.sha256) || here.has(fingerprint.sha256)) continue;
    if (placeOf(world, delta.relative, fingerprint) === 'here') {
      await keepHere(delta, fingerprint);
      here.set(fingerprint.sha256, fingerprint);
      continue;
    }
    const bytes = world.baselines.peek(fingerprint) ?? (await bytesOf(delta, fingerprint));
    if (bytes === undefined) continue;
    total += bytes.byteLength;
    if (total > MAX_ANNOUNCED_BYTES) await world.images.keepBytes(bytes, fingerprint);
    else shared.set(fingerprint.sha256, { fingerprint, bytes });
  }
  if (here.size > 0 || total > MAX_ANNOUNCED_BYTES) await sync?.();
  return { shared: [...shared.values()], here: [...here.values()] };
}

/** The fingerprint of the file that a delta replaces or removes. A file that only moves is neither. */
function destroyedBy({ before }: Delta): Fingerprint | undefined {
  return before.kind === 'file' && before.kept ? before.fingerprint : undefined;
}

/**
 * Stores the present content of a file in the state folder, unless it is there already. Does nothing
 * if the file has changed since it was judged: the change then meets a conflict there.
 */
async function keepFile(world: World, delta: Delta, fingerprint: Fingerprint): Promise<void> {
  const { images } = world;
  const isKept = images.hasHere ?? images.has;
  if (await isKept.call(images, fingerprint.sha256, 'rely')) return;
  const known = world.baselines.peek(fingerprint);
  if (known !== undefined) return images.keepBytes(known, fingerprint);
  await atFile(world, delta, async (place) => {
    const chunks = chunksAt(place);
    if ('problem' in chunks) return mustBeGone(delta, chunks);
    try {
      await images.keepChunks(chunks, fingerprint);
    } catch (error) {
      if (!isChangedWhileKept(error)) throw error;
    }
    return undefined;
  });
}

/** Throws a Fault if a file is there but cannot be read: its bytes could not be kept. */
function mustBeGone({ relative }: Delta, { problem }: Unreadable): undefined {
  if (problem === 'denied' || problem === 'too-large') throw notKept(relative);
  return undefined;
}

/** Runs `work` with the place of a file. Uses its spelled path: where case is ignored, a key has only lower-case letters. */
function atFile<T>(
  { workspace }: World,
  { key, relative }: Delta,
  work: (place: Place) => Promise<T>,
): Promise<T | undefined> {
  const at = { path: workspace.named(key, relative).absolute, action: 'undo', links: 'parents' } as const;
  return workspace.at<T | undefined>(
    at,
    ({ exists, place }) => (exists && place.path.key === key ? work(place) : undefined),
    () => undefined,
  );
}

function notKept(key: string): Fault {
  return new Fault('IO_FAILED', `cannot keep the present bytes of ${key}`, { path: key, unchanged: true });
}

/** The bytes of a file, or undefined if the file changed and they no longer match the fingerprint. */
async function presentBytes(
  world: World,
  delta: Delta,
  fingerprint: Fingerprint,
): Promise<Uint8Array | undefined> {
  return atFile(world, delta, async (place) => {
    const snapshot = await readSnapshot(place, { clock: undefined });
    if ('problem' in snapshot) return mustBeGone(delta, snapshot);
    return snapshot.fingerprint.sha256 === fingerprint.sha256 ? snapshot.bytes : undefined;
  });
}
