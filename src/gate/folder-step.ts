import { type MadeFolders, makeFolders, removeFolder, setFolderMode } from '../disk/folders.ts';
import type { Effect } from '../model/entry.ts';
import type { Place } from '../model/path.ts';
import type { Absent, Found, Located } from '../workspace/workspace.ts';
import { ABSENT, type Step } from './step.ts';
import type { World } from './world.ts';

/** Makes a folder and its missing parents. */
export function makeFolderStep(world: World, located: Absent): Step {
  const { place } = located;
  let folders: MadeFolders | undefined;
  const own: Effect = {
    key: place.path.key,
    relative: place.path.relative,
    before: ABSENT,
    after: { kind: 'directory', mode: 0o755 },
  };
  return {
    action: 'mkdir',
    path: place.path,
    effects: [...folderEffects(located), own],
    run: async () => {
      folders = makeFolders(world.disk, place, located.missing);
      await syncOrUndo(folders);
      const { made, mode } = folders;
      // If another program has just made the folder, this step made none and has nothing to undo.
      const isNew = made > 0;
      const result = { path: place.path.given, changed: isNew, created: isNew, sizeBytes: 0, notices: [] };
      const after = { kind: 'directory', mode: mode() } as const;
      const effects =
        made === 0 ? [] : [...madeEffects(located, { made: made - 1, mode }), { ...own, after }];
      return { ok: true, effects, result, sightings: [], tombstones: [], displaced: [] };
    },
    revert: async () => {
      folders?.undo();
      return true;
    },
    close: () => {
      folders?.close();
      place.dir.close();
    },
  };
}

async function syncOrUndo(folders: MadeFolders): Promise<void> {
  try {
    await folders.sync();
  } catch (error) {
    folders.undo();
    throw error;
  }
}

/** A step that changes nothing: the requested folder exists already. */
export function nothingStep(located: Found): Step {
  const { place } = located;
  const result = { path: place.path.given, changed: false, created: false, sizeBytes: 0, notices: [] };
  return {
    action: 'mkdir',
    path: place.path,
    effects: [],
    run: async () => ({ ok: true, result, sightings: [], tombstones: [], displaced: [] }),
    revert: async () => true,
    close: () => place.dir.close(),
  };
}

/** Removes an empty folder. */
export function removeFolderStep(world: World, located: Found): Step {
  const { place } = located;
  const mode = Number(located.stats.mode & 0o777n);
  return {
    action: 'delete',
    path: place.path,
    effects: [
      {
        key: place.path.key,
        relative: place.path.relative,
        before: { kind: 'directory', mode },
        after: ABSENT,
      },
    ],
    run: async () => {
      if (!(await removeFolder(world.disk, place))) return { ok: false, reason: 'changed', retained: [] };
      const result = { path: place.path.given, changed: true, created: false, sizeBytes: 0, notices: [] };
      return { ok: true, result, sightings: [], tombstones: [place.path.key], displaced: [] };
    },
    revert: async () => {
      await remakeFolder(world, place, mode);
      return true;
    },
    close: () => place.dir.close(),
  };
}

/** Makes a removed folder again, with its mode. */
export async function remakeFolder({ disk }: World, place: Place, mode: number): Promise<void> {
  const made = makeFolders(disk, place, [place.name]);
  try {
    setFolderMode(made.dir, mode);
    await made.sync();
  } finally {
    made.close();
  }
}

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
  folders: (Pick<MadeFolders, 'made' | 'mode'> & { readonly outerMode?: number }) | undefined,
): Effect[] {
  if (folders === undefined || folders.made <= 0) return [];
  const mode = folders.mode();
  const made = folderEffects(located).slice(-folders.made);
  const modeAt = (index: number): number => (index < made.length - 1 ? (folders.outerMode ?? mode) : mode);
  return made.map((effect, index) => ({ ...effect, after: { kind: 'directory', mode: modeAt(index) } }));
}
