import type { ImageUsage } from '../images.ts';
import { type ImageFolder, moveUnlessTaken, removeIfThere, setAside, shardOf, statsOf } from './folder.ts';

/**
 * Hides images, queries again which of them are needed, puts those back and removes the others. A change announced
 * before its process looked for an image appears in that query. A process that looks later finds the image missing and
 * stores the bytes again.
 */
export async function removeImages(
  folder: ImageFolder,
  hashes: readonly string[],
  needed: () => Promise<ReadonlySet<string>>,
): Promise<ImageUsage> {
  for (const sha256 of hashes) {
    setAside(folder.image(sha256), folder.gone(sha256));
    setAside(folder.packed(sha256), folder.packedGone(sha256));
  }
  const kept = await needed();
  const doomed = new Set<string>();
  for (const sha256 of hashes) {
    if (kept.has(sha256)) putBack(folder, sha256);
    else doomed.add(sha256);
  }
  const removed = discard(folder, doomed);
  folder.sweepTemps();
  return removed;
}

function putBack(folder: ImageFolder, sha256: string): void {
  const gone = folder.gone(sha256);
  if (statsOf(gone) !== undefined) moveUnlessTaken(gone, folder.image(sha256));
  const packed = folder.packedGone(sha256);
  if (statsOf(packed) !== undefined) moveUnlessTaken(packed, folder.packed(sha256));
}

function discard(folder: ImageFolder, doomed: ReadonlySet<string>): ImageUsage {
  let [count, bytes] = [0, 0];
  const shards = new Set([...doomed].map(shardOf));
  for (const { sha256, paths } of folder.names(shards)) {
    if (!doomed.has(sha256)) continue;
    count++;
    for (const path of paths) {
      // An image under its regular name was stored again meanwhile: it is needed.
      if (path === folder.image(sha256) || path === folder.packed(sha256)) continue;
      bytes += statsOf(path)?.size ?? 0;
      removeIfThere(path);
    }
  }
  return { count, bytes };
}
