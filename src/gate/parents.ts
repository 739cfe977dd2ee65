import type { MadeFolders } from '../disk/folders.ts';
import { ABSENT } from '../model/delta.ts';
import type { Effect } from '../model/entry.ts';
import type { Located } from '../workspace/workspace.ts';

/** Missing parent folders that will be made, outermost first. An undo removes those that are empty. */
export function folderEffects(located: Located): Effect[] {
  if (located.exists || located.missing.length <= 1) return [];
  const { path } = located.place;
  const names = path.relative.split('/');
  const above = names.length - located.missing.length;
  return located.missing.slice(0, -1).map((_name, index) => {
    const relative = names.slice(0, above + index + 1).join('/');
    const depth = names.length - (above + index + 1);
    const key = path.key.split('/').slice(0, -depth).join('/');
    return { key, relative, before: ABSENT, after: { kind: 'directory', mode: 0o755 } };
  });
}

/**
 * The effects to record for the parent folders that this process made. `folders.made` is their
 * number. They are the innermost of the missing folders: another program may have made the outer
 * ones meanwhile. `outerMode`: the mode of all but the innermost; default: the same.
 */
export function madeEffects(
  located: Located,
  folders: Pick<MadeFolders, 'made' | 'mode'> & { readonly outerMode?: number },
): Effect[] {
  if (folders.made <= 0) return [];
  const mode = folders.mode();
  const made = folderEffects(located).slice(-folders.made);
  const modeAt = (index: number): number => (index < made.length - 1 ? (folders.outerMode ?? mode) : mode);
  return made.map((effect, index) => ({ ...effect, after: { kind: 'directory', mode: modeAt(index) } }));
}
