import { buildFolder, dropBuilt, type NewFolder, type NewNode } from '../disk/build-folder.ts';
import { conflict } from '../disk/replace.ts';
import { publishFolder } from '../disk/take-folder.ts';
import type { UndoStep } from '../journal/undo-steps.ts';
import type { Place, ResolvedPath } from '../model/path.ts';
import { atPath } from './at-path.ts';
import { folderOutStep } from './folder-out-step.ts';
import { effectsOf, type RestoreContext, sightingsOf } from './restore-step.ts';
import type { Done, Step } from './step.ts';
import type { World } from './world.ts';

/** One thing to restore. */
export interface Restoration {
  readonly step: UndoStep;
  readonly context: RestoreContext;
}

/**
 * Brings a folder with everything in it by one rename: it is built under a temporary name first. `items` begin with the folder
 * itself, and each folder comes before what is in it. For batches only: `stage` builds it, and the batch syncs it.
 */
export function folderInStep(world: World, path: ResolvedPath, items: readonly Restoration[]): Step {
  let built: string | undefined;
  let published = false;
  const effects = items.flatMap(({ step }) => effectsOf(step));
  const drop = (place: Place): void => {
    if (built !== undefined) dropBuilt(world.disk, place, built);
    built = undefined;
  };
  return {
    action: items[0]?.context.action ?? 'undo',
    path,
    effects,
    stage: async () => {
      const folder = folderOf(world, items);
      await atPath(world, path, async (place) => {
        built = await buildFolder(world.disk, place, folder);
      });
    },
    unstage: async () => {
      if (!published) await atPath(world, path, drop);
    },
    run: async () => {
      return atPath(world, path, (place) => {
        const temp = built;
        if (temp === undefined) return conflict('changed');
        if (!publishFolder(world.disk, place, temp)) return conflict('exists');
        published = true;
        return doneOf(world, path, items);
      });
    },
    revert: async () => {
      if (!published) return true;
      const doomed = items
        .toReversed()
        .map(({ step, context }) => ({ path: context.path, side: step.restore }));
      return (await folderOutStep(world, { action: 'undo', path, doomed }).run()).ok;
    },
    close: () => {},
  };
}

function doneOf(world: World, path: ResolvedPath, items: readonly Restoration[]): Done {
  const result = { path: path.given, changed: true, created: true, sizeBytes: 0, notices: [] };
  // Of files that it never saw, the session needs no note: there may be very many.
  const known = items.filter(({ context }) => context.known !== undefined || context.shown !== undefined);
  const sightings = known.flatMap(({ step, context }) => sightingsOf(world, step, context));
  return { ok: true, result, sightings, tombstones: [], displaced: [] };
}

/** The tree of nodes that the items describe. */
function folderOf(world: World, items: readonly Restoration[]): NewFolder {
  const inside = new Map<string, NewNode[]>();
  let root: NewFolder | undefined;
  for (const { step, context } of items) {
    const node = nodeOf(world, { step, context }, inside);
    if (root === undefined && node.kind === 'folder') root = node;
    else inside.get(step.key.slice(0, step.key.lastIndexOf('/')))?.push(node);
  }
  if (root === undefined) throw new TypeError('the first item must be the folder itself');
  return root;
}

function nodeOf(world: World, { step, context }: Restoration, inside: Map<string, NewNode[]>): NewNode {
  const { key, restore: after } = step;
  const { relative } = context.path;
  const name = relative.slice(relative.lastIndexOf('/') + 1);
  if (after.kind === 'link') return { kind: 'link', name, target: after.target };
  if (after.kind === 'file') {
    const bytes = context.bytes ?? ((): Promise<Uint8Array> => world.images.read(after.fingerprint));
    return { kind: 'file', name, mode: after.mode, bytes };
  }
  const nodes: NewNode[] = [];
  inside.set(key, nodes);
  return { kind: 'folder', name, mode: after.kind === 'directory' ? after.mode : 0o755, nodes };
}
