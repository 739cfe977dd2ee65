import { lstatSync, unlinkSync } from 'node:fs';
import { errnoOf, unlessMissing } from '../model/fault.ts';
import type { Place } from '../model/path.ts';
import type { DiskContext } from './context.ts';
import { moveIfFree } from './free-name.ts';
import { retain } from './publication.ts';
import { type TempUse, tempName } from './temp-names.ts';

/**
 * Removes the temporary entries of one path in one change that failed or whose process died. An
 * entry that was renamed away gets its name back. Other entries move out of the workspace: they may
 * be the only copy. Several processes may run this at the same time. `left`: a system error, such as
 * a full disk or a read-only folder, prevented it.
 */
export function clearTemps(context: DiskContext, place: Place): 'clear' | 'left' {
  const { dir, name, path } = place;
  const temp = (use: TempUse): string => `${dir.prefix}/${tempName(context, path, use)}`;
  try {
    // If another file has the original name by now, it keeps it: it is the new, published file.
    const old = temp('old');
    if (isThere(old)) unlessMissing(() => moveIfFree(old, `${dir.prefix}/${name}`));
    for (const use of ['old', 'new', 'back'] as const) {
      const left = temp(use);
      if (isThere(left)) unlessMissing(() => removeTemp(context, left, `${dir.prefix}/${name}`));
    }
    return 'clear';
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return 'left';
  }
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function removeTemp(context: DiskContext, temp: string, proper: string): void {
  const stats = lstatSync(temp, { bigint: true });
  const isInPlace = lstatSync(proper, { bigint: true, throwIfNoEntry: false })?.ino === stats.ino;
  if (isInPlace) unlinkSync(temp);
  else retain(context, temp);
}
