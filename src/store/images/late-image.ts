import { isMissing } from '../../model/errno.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { LateImage } from '../images.ts';
import { beginsWith, startChunks } from './bytes.ts';
import {
  COPY_MODE,
  type ImageFolder,
  isLongUnwritten,
  moveUnlessTaken,
  removeIfThere,
  setAside,
  shardOf,
  statsOf,
  writeNew,
} from './folder.ts';
import { packedFile } from './packed.ts';
import { setAsideLateTwins } from './twin-image.ts';

/** Finds writes of programs into displaced files that they still had open, and moves them to separate names. */
export async function* setAsideLate(
  folder: ImageFolder,
  fingerprints: readonly Fingerprint[],
): AsyncGenerator<LateImage> {
  const wanted = new Map(fingerprints.map((each) => [each.sha256, each]));
  const shards = new Set(fingerprints.map(({ sha256 }) => shardOf(sha256)));
  for (const { sha256, paths } of folder.names(shards)) {
    const fingerprint = wanted.get(sha256);
    if (fingerprint === undefined) continue;
    const written = await splitOff(folder, fingerprint);
    const twins = await setAsideLateTwins(folder, fingerprint, paths);
    // An unchanged twin may have taken the image's place by now.
    const isLost = statsOf(folder.image(sha256)) === undefined && packedFile(folder, sha256) === undefined;
    if (written !== undefined) yield { ...written, lost: written.lost && isLost };
    yield* twins;
    for (const path of paths) {
      if (!path.startsWith(`${folder.image(sha256)}.late-`)) continue;
      const file = folder.told(sha256);
      if (setAside(path, file)) yield { sha256, file, lost: isLost };
    }
  }
}

/**
 * Sets aside a changed image. If the file still begins with the original bytes, a copy of them takes its place. If
 * several processes find it at the same moment, one of them sets it aside.
 */
async function splitOff(folder: ImageFolder, fingerprint: Fingerprint): Promise<LateImage | undefined> {
  const { sha256, size } = fingerprint;
  const image = folder.image(sha256);
  const stats = statsOf(image);
  if (stats === undefined) return undefined;
  if (stats.size === size && (isOurs(stats) || isLongUnwritten(stats))) return undefined;
  const isWhole = await beginsWith(image, fingerprint);
  if (isWhole && stats.size === size) return undefined;
  const copy = isWhole ? await copyOfStart(folder, fingerprint) : undefined;
  const file = folder.told(sha256);
  // The name may already belong to the copy of another process.
  const isMoved = statsOf(image)?.ino === stats.ino && setAside(image, file);
  if (copy !== undefined && isMoved) moveUnlessTaken(copy, image);
  else if (copy !== undefined) removeIfThere(copy);
  return isMoved ? { sha256, file, lost: copy === undefined } : undefined;
}

/** A copy of the original bytes. Undefined if a program is writing the file at this moment, or if it is gone. */
async function copyOfStart(folder: ImageFolder, fingerprint: Fingerprint): Promise<string | undefined> {
  const copy = folder.ready(folder.temp());
  const start = startChunks(folder.image(fingerprint.sha256), fingerprint.size);
  try {
    await writeNew(copy, start, { durability: 'file', mode: COPY_MODE });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  if (await beginsWith(copy, fingerprint)) return copy;
  removeIfThere(copy);
  return undefined;
}

function isOurs(stats: { readonly mode: number }): boolean {
  return (stats.mode & 0o777) === COPY_MODE;
}
