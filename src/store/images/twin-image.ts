import type { Stats } from 'node:fs';
import { isTaken } from '../../model/errno.ts';
import type { Fingerprint } from '../../model/fingerprint.ts';
import type { LateImage } from '../images.ts';
import { beginsWith } from './bytes.ts';
import { type ImageFolder, isLongUnwritten, removeIfThere, setAside, statsOf, tryLink } from './folder.ts';

/** A program that keeps a replaced file open for longer than this does not write to it by accident. */
const KEPT_MS = 24 * 3_600_000;

/**
 * Links an image to a second name, before another file with the same bytes takes its first name: a program may have
 * either file open. Without hard links there is no twin.
 */
export async function keepTwin(folder: ImageFolder, fingerprint: Fingerprint): Promise<void> {
  const twin = folder.twin(fingerprint.sha256);
  if (await isIntact(twin, fingerprint)) removeIfThere(twin);
  else setAside(twin, folder.late(fingerprint.sha256));
  try {
    tryLink(folder.image(fingerprint.sha256), twin);
  } catch (error) {
    // Another thread of this process has made its twin first.
    if (!isTaken(error)) throw error;
  }
}

/** Sets aside twins that a program has changed, and removes twins that no program will write to. */
export async function setAsideLateTwins(
  folder: ImageFolder,
  fingerprint: Fingerprint,
  paths: readonly string[],
): Promise<readonly LateImage[]> {
  const { sha256 } = fingerprint;
  const late: LateImage[] = [];
  for (const twin of paths.filter((path) => path.startsWith(`${folder.image(sha256)}.twin-`))) {
    if (await isIntact(twin, fingerprint)) {
      useIfNeeded(folder, twin, sha256);
      continue;
    }
    const file = folder.told(sha256);
    if (setAside(twin, file)) late.push({ sha256, file, lost: false });
  }
  return late;
}

/** Moves an unchanged twin to the place of a changed image. Removes an old twin. */
function useIfNeeded(folder: ImageFolder, twin: string, sha256: string): void {
  const stats = statsOf(twin);
  if (stats === undefined) return;
  if (statsOf(folder.image(sha256)) === undefined) setAside(twin, folder.image(sha256));
  else if (isOld(stats)) removeIfThere(twin);
}

function isOld({ ctimeMs }: Stats): boolean {
  return ctimeMs < Date.now() - KEPT_MS;
}

/** True if the twin is unchanged or does not exist. */
async function isIntact(twin: string, fingerprint: Fingerprint): Promise<boolean> {
  const stats = statsOf(twin);
  if (stats === undefined) return true;
  if (stats.size !== fingerprint.size) return false;
  return isLongUnwritten(stats) || (await beginsWith(twin, fingerprint));
}
