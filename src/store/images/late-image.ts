import type { Stats } from 'node:fs';
import { isMissing } from '../../model/fault.ts';
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
  tryRename,
  tryReplace,
  writeNew,
} from './folder.ts';
import { packedFile } from './packed.ts';

/**
 * Moves changed images (stored old contents of files) to separate names, and yields them. A program
 * can change an image if it opened the file before the file was replaced. If the caller stops at an
 * image, for example because it could not record the change, a later call yields that image again.
 */
export async function* setAsideLate(
  folder: ImageFolder,
  fingerprints: readonly Fingerprint[],
  isElsewhere: (sha256: string) => boolean,
): AsyncGenerator<LateImage> {
  const wanted = new Map(fingerprints.map((each) => [each.sha256, each]));
  const shards = new Set(fingerprints.map(({ sha256 }) => shardOf(sha256)));
  for (const { sha256, paths } of folder.names(shards)) {
    const fingerprint = wanted.get(sha256);
    if (fingerprint === undefined) continue;
    const written = await splitOff(folder, fingerprint);
    const twins = await setAsideLateTwins(folder, fingerprint, paths);
    const earlier = paths.filter((path) => path.startsWith(`${folder.image(sha256)}.late-`));
    // The original bytes may also be stored under the regular name, compressed, or in a folder that
    // left the workspace.
    const isLost =
      statsOf(folder.image(sha256)) === undefined &&
      packedFile(folder, sha256) === undefined &&
      !isElsewhere(sha256);
    for (const path of [...written, ...twins, ...earlier]) {
      const file = folder.told(sha256);
      if (!setAside(path, file)) continue;
      let isReported = false;
      try {
        yield { sha256, file, lost: isLost };
        isReported = true;
      } finally {
        if (!isReported) setAside(file, path);
      }
    }
  }
}

/**
 * Moves a stored file that a program has changed to a separate name. If it still begins with the
 * original bytes, a copy of these bytes gets the old name. Returns a list with the new path. The
 * list is empty if the file is unchanged, or if another process has moved it at the same moment.
 */
async function splitOff(folder: ImageFolder, fingerprint: Fingerprint): Promise<readonly string[]> {
  const { sha256, size } = fingerprint;
  const image = folder.image(sha256);
  const stats = statsOf(image);
  if (stats === undefined) return [];
  if (stats.size === size && (isOurs(stats) || isLongUnwritten(stats))) return [];
  const isWhole = await beginsWith(image, fingerprint);
  if (isWhole && stats.size === size) return [];
  const copy = isWhole ? await copyOfStart(folder, image, fingerprint) : undefined;
  const file = folder.late(sha256);
  // Do not move the file if another process has already put its copy of the original bytes under
  // this name.
  const isMoved = statsOf(image)?.ino === stats.ino && setAside(image, file);
  if (copy !== undefined && isMoved) moveUnlessTaken(copy, image);
  else if (copy !== undefined) removeIfThere(copy);
  return isMoved ? [file] : [];
}

/**
 * Copies the original bytes from the beginning of a changed file and returns the copy's path.
 * Undefined if a program has overwritten these bytes, or if the file is gone.
 */
export async function copyOfStart(
  folder: ImageFolder,
  path: string,
  fingerprint: Fingerprint,
): Promise<string | undefined> {
  const copy = folder.ready(folder.temp());
  const start = startChunks(path, fingerprint.size);
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

/** A program that has kept a replaced file open for longer than this is assumed not to write to it. */
const KEPT_MS = 24 * 3_600_000;

/**
 * Gives a file a second name (a twin) beside the stored file with the same bytes. Returns false if
 * hard links are impossible there.
 */
export async function linkAsTwin(
  folder: ImageFolder,
  fromPath: string,
  fingerprint: Fingerprint,
): Promise<boolean> {
  const twin = await freeTwin(folder, fingerprint);
  return tryReplace(fromPath, twin, folder.temp());
}

/**
 * Renames a file to a second name (a twin) beside the stored file with the same bytes. Returns
 * false if the file is on another file system.
 */
export async function moveToTwin(
  folder: ImageFolder,
  fromPath: string,
  fingerprint: Fingerprint,
): Promise<boolean> {
  return tryRename(fromPath, await freeTwin(folder, fingerprint));
}

/**
 * A name for a twin (another file with the same bytes). The caller may replace an unchanged file
 * with this name. A changed file with this name is set aside here.
 */
async function freeTwin(folder: ImageFolder, fingerprint: Fingerprint): Promise<string> {
  const twin = folder.twin(fingerprint.sha256);
  if (!(await isIntact(twin, fingerprint))) setAside(twin, folder.late(fingerprint.sha256));
  return twin;
}

/**
 * Sets aside twins (other files with the same bytes) that a program has changed, and returns their
 * new paths. Calls `useIfNeeded` for unchanged twins, which may rename or remove them.
 */
async function setAsideLateTwins(
  folder: ImageFolder,
  fingerprint: Fingerprint,
  paths: readonly string[],
): Promise<readonly string[]> {
  const { sha256 } = fingerprint;
  const late: string[] = [];
  for (const twin of paths.filter((path) => folder.isTwin(path, sha256))) {
    if (await isIntact(twin, fingerprint)) {
      useIfNeeded(folder, twin, sha256);
      continue;
    }
    const file = folder.late(sha256);
    if (setAside(twin, file)) late.push(file);
  }
  return late;
}

/**
 * Moves an unchanged twin (another file with the same bytes) to the regular name of the stored
 * file, if that is free now. Otherwise removes the twin if it is old.
 */
function useIfNeeded(folder: ImageFolder, twin: string, sha256: string): void {
  const stats = statsOf(twin);
  if (stats === undefined) return;
  if (statsOf(folder.image(sha256)) === undefined) setAside(twin, folder.image(sha256));
  else if (isOld(stats)) removeIfThere(twin);
}

function isOld({ ctimeMs }: Stats): boolean {
  return ctimeMs < Date.now() - KEPT_MS;
}

/** True if the file `twin` still has the bytes of the fingerprint, or does not exist. */
async function isIntact(twin: string, fingerprint: Fingerprint): Promise<boolean> {
  const stats = statsOf(twin);
  if (stats === undefined) return true;
  if (stats.size !== fingerprint.size) return false;
  return isLongUnwritten(stats) || (await beginsWith(twin, fingerprint));
}
