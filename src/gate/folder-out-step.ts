import { holdsAt } from '../disk/content.ts';
import { create } from '../disk/create.ts';
import { inspect, linkTarget, listUnsorted } from '../disk/list.ts';
import type { Conflict } from '../disk/replace.ts';
import { dropEmptied } from '../disk/retained.ts';
import { returnFolder, takeFolder } from '../disk/take-folder.ts';
import type { Effect, Side } from '../model/entry.ts';
import { type Stamp, sameStamp } from '../model/fingerprint.ts';
import type { PinnedDirectory, Place, ResolvedPath } from '../model/path.ts';
import type { Action } from '../model/verdict.ts';
import { keptContent } from './announce.ts';
import { ABSENT, atPath, type Displaced, type Done, type Step } from './step.ts';
import type { World } from './world.ts';

/** One file, link or folder in a tree, and its state before it is deleted. */
export interface Doomed {
  readonly path: ResolvedPath;
  readonly side: Side;
  /** The stamp of a file whose bytes were just compared; set if an equal stamp proves that the bytes are unchanged. */
  readonly stamp?: Stamp | undefined;
}

interface FolderOut {
  readonly action: Action;
  /** The folder itself. */
  readonly path: ResolvedPath;
  /** Everything in the folder and the folder itself; each folder comes after its contents. */
  readonly doomed: readonly Doomed[];
}

/**
 * Deletes a folder with its contents by one rename out of the workspace. The rename is reverted if anything inside has
 * changed since it was checked. The files become images.
 */
export function folderOutStep(world: World, { action, path, doomed }: FolderOut): Step {
  const relativeTo = (item: Doomed): string => item.path.key.slice(path.key.length + 1);
  const expected = new Map(doomed.map((item) => [relativeTo(item), item]));
  let kept: string | undefined;
  return {
    action,
    path,
    effects: doomed.map(effectOf),
    run: async () =>
      atPath(world, path, async (place): Promise<Done | Conflict> => {
        const taken = await takeFolder(world.disk, place, (dir) => isTree(dir, expected));
        if (!taken.ok) return taken;
        kept = taken.kept;
        const displaced = doomed.flatMap((item) => displacedOf(item, `${taken.kept}/${relativeTo(item)}`));
        return { ...goneResult(path, doomed), displaced };
      }),
    revert: async () => {
      const folder = kept;
      if (folder === undefined) return true;
      const back = await atPath(world, path, (place) => putBack(world, { place, folder, doomed, path }));
      return back === true;
    },
    close: () => {
      if (kept !== undefined) dropEmptied(kept);
    },
  };
}

function effectOf({ path, side }: Doomed): Effect {
  return { key: path.key, relative: path.relative, before: side, after: ABSENT };
}

function displacedOf({ side }: Doomed, file: string): Displaced[] {
  return side.kind === 'file' ? [{ file, ...side.fingerprint }] : [];
}

function goneResult(path: ResolvedPath, doomed: readonly Doomed[]): Omit<Done, 'displaced'> {
  const result = { path: path.given, changed: true, created: false, sizeBytes: 0, notices: [] };
  return { ok: true, result, sightings: [], tombstones: doomed.map((item) => item.path.key) };
}

/** True if a folder holds exactly the expected entries, by relative path. '' is the folder itself. */
function isTree(dir: PinnedDirectory, expected: ReadonlyMap<string, Doomed>): boolean {
  let met = 1;
  const isAsExpected = (folder: PinnedDirectory, prefix: string): boolean =>
    listUnsorted(folder).every(({ name, kind }) => {
      met += 1;
      const item = expected.get(`${prefix}${name}`);
      if (item === undefined) return false;
      if (kind !== 'directory') return isLeaf(folder, name, item);
      if (item.side.kind !== 'directory') return false;
      const inner = folder.enter(name);
      try {
        return isAsExpected(inner, `${prefix}${name}/`);
      } finally {
        inner.close();
      }
    });
  return isAsExpected(dir, '') && met === expected.size;
}

function isLeaf(dir: PinnedDirectory, name: string, { side, stamp }: Doomed): boolean {
  if (side.kind === 'link') return linkTarget({ dir, name }) === side.target;
  if (side.kind !== 'file') return false;
  const stats = stamp === undefined ? undefined : inspect(dir, name);
  if (stamp !== undefined && stats !== undefined && sameStamp(stamp, stats)) return true;
  return holdsAt({ dir, name }, side.fingerprint);
}

interface Taken {
  readonly place: Place;
  readonly folder: string;
  readonly doomed: readonly Doomed[];
  readonly path: ResolvedPath;
}

/** Renames the folder back, and rewrites the files that have become images meanwhile. */
async function putBack(world: World, { place, folder, doomed, path }: Taken): Promise<boolean> {
  if (!(await returnFolder(world.disk, folder, place))) return false;
  let complete = true;
  for (const item of doomed) {
    if (item.side.kind !== 'file' || item.path.key === path.key) continue;
    complete = (await isBack(world, item, item.side)) && complete;
  }
  return complete;
}

async function isBack(world: World, item: Doomed, side: Extract<Side, { kind: 'file' }>): Promise<boolean> {
  const back = await atPath(world, item.path, async (place) => {
    if (inspect(place.dir, place.name) !== undefined) return true;
    const content = await keptContent(world, side.fingerprint);
    return (await create(world.disk, place, { ...content, mode: side.mode })).ok;
  });
  return back === true;
}
