import type { Content } from '../disk/content.ts';
import { inspect, listUnsorted } from '../disk/list.ts';
import { isReadOnly } from '../disk/read.ts';
import { conflict } from '../disk/replace.ts';
import {
  buildFolder,
  dropBuilt,
  isTakeable,
  type NewFolder,
  type NewNode,
  publishFolder,
} from '../disk/take-folder.ts';
import type { UndoStep } from '../journal/undo-steps.ts';
import type { Stamp } from '../model/fingerprint.ts';
import type { PinnedDirectory, Place, ResolvedPath } from '../model/path.ts';
import { keptContent } from './announce.ts';
import { effectsOf, type RestoreContext, restoreStep, sightingsOf } from './restore-step.ts';
import { atPath, type Done, type Step } from './step.ts';
import { folderOutStep } from './tree-step.ts';
import type { World } from './world.ts';

/**
 * Folders with fewer entries are restored or removed entry by entry. For them, checking the folder
 * and then renaming it as a whole would save no time.
 */
const WHOLE_ITEMS = 8;

/** An item to restore, and the state found at its path. */
export interface RestorePlace extends Restoration {
  /** Stat fields of the present file. Set only if unchanged fields prove unchanged bytes. */
  readonly stamp?: Stamp | undefined;
  /** The mode of the present file. Set only if the caller has just read the mode. */
  readonly mode?: number | undefined;
}

/** One file, link or folder to restore. */
interface Restoration {
  readonly step: UndoStep;
  readonly context: RestoreContext;
}

/**
 * The steps that restore the items, in order. A folder that is removed with all its contents takes
 * one rename. In a batch (see `worldFor`), a folder that is created takes one rename, too.
 */
export function restoreSteps(world: World, items: readonly RestorePlace[]): readonly Step[] {
  const whole = new Map<RestorePlace, Step>();
  const members = new Set<RestorePlace>();
  for (const { root, inside } of wholeFolders(items)) {
    const folder = { root, inside };
    const step = courseOf(root) === 'coming' ? stepIn(world, folder) : stepOut(world, folder);
    if (step === undefined) continue;
    whole.set(root, step);
    for (const item of inside) members.add(item);
  }
  return items.flatMap((item) => {
    if (members.has(item)) return [];
    return [whole.get(item) ?? restoreStep(world, item.step, item.context)];
  });
}

/**
 * True if no restoration affects the path of another: nothing moves back, and no two items have the
 * same path.
 */
export function areIndependent(items: readonly Pick<RestorePlace, 'step'>[]): boolean {
  const keys = new Set<string>();
  for (const { step } of items) {
    if (step.from !== undefined) return false;
    keys.add(step.key);
  }
  return keys.size === items.length;
}

interface WholeFolder {
  readonly root: RestorePlace;
  readonly inside: readonly RestorePlace[];
}

type Course = 'coming' | 'going' | 'other';

function courseOf({ step }: RestorePlace): Course {
  const [before, after] = [step.expect.kind, step.restore.kind];
  if (before === 'absent') return after === 'absent' ? 'other' : 'coming';
  return after === 'absent' ? 'going' : 'other';
}

/** The outermost folders that are created or removed, each with the items below it. */
function wholeFolders(items: readonly RestorePlace[]): readonly WholeFolder[] {
  if (!areIndependent(items)) return [];
  const aroundOf = itemsAround(items);
  const isMixed = new Set(
    items.flatMap((item) => aroundOf(item).filter((around) => courseOf(around) !== courseOf(item))),
  );
  const isWhole = (item: RestorePlace): boolean => isFolder(item) && !isMixed.has(item);
  const folders = new Map<RestorePlace, RestorePlace[]>();
  for (const item of items) {
    const root = aroundOf(item).find(isWhole) ?? (isWhole(item) ? item : undefined);
    if (root === undefined) continue;
    const inside = folders.get(root) ?? [];
    folders.set(root, inside);
    if (item !== root) inside.push(item);
  }
  return [...folders].flatMap(([root, inside]) => (inside.length < WHOLE_ITEMS ? [] : [{ root, inside }]));
}

/**
 * Returns a function that finds an item's parent folders among the items, outermost first. Caches
 * the result per folder.
 */
function itemsAround(items: readonly RestorePlace[]): (item: RestorePlace) => readonly RestorePlace[] {
  const byKey = new Map(items.map((item) => [item.step.key, item]));
  const known = new Map<string, readonly RestorePlace[]>();
  return ({ step: { key } }) => {
    const folder = key.slice(0, key.lastIndexOf('/'));
    const around = known.get(folder) ?? foldersAbove(key).flatMap((above) => byKey.get(above) ?? []);
    known.set(folder, around);
    return around;
  };
}

function isFolder(item: RestorePlace): boolean {
  const { expect, restore } = item.step;
  const course = courseOf(item);
  return (course === 'coming' ? restore : expect).kind === 'directory' && course !== 'other';
}

/** Keys of the parent folders of a key, outermost first. */
function foldersAbove(key: string): string[] {
  const keys: string[] = [];
  for (let end = key.indexOf('/', 1); end > 0; end = key.indexOf('/', end + 1)) keys.push(key.slice(0, end));
  return keys;
}

/** The step that creates a whole folder, or undefined if it must be created entry by entry. */
function stepIn(world: World, { root, inside }: WholeFolder): Step | undefined {
  const folders = new Set([root, ...inside].filter(isFolder).map(({ step }) => step.key));
  const hasParents = inside.every(({ step }) => folders.has(step.key.slice(0, step.key.lastIndexOf('/'))));
  if (world.disk.batch === undefined || !hasParents) return undefined;
  const outcome = world.workspace.locate(root.step.key, 'undo', 'parents');
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  try {
    const isFree = !located.exists && located.missing.length === 1;
    if (!isFree || !isTakeable(world.disk, { dir: located.place.dir, name: '.' })) return undefined;
    return folderInStep(world, root.context.path, [root, ...[...inside].sort(byDepth)]);
  } finally {
    located.place.dir.close();
  }
}

/** The step that removes a whole folder, or undefined if it must be removed entry by entry. */
function stepOut(world: World, { root, inside }: WholeFolder): Step | undefined {
  const { path } = root.context;
  if (inside.some(({ context }) => world.workspace.isRoot(context.path))) return undefined;
  const outcome = world.workspace.locate(root.step.key, 'undo', 'parents');
  if (!outcome.ok) return undefined;
  const { located } = outcome;
  try {
    if (!located.exists || !located.stats.isDirectory() || !isTakeable(world.disk, located.place))
      return undefined;
    const items = new Map(inside.map((item) => [item.step.key.slice(root.step.key.length + 1), item]));
    const dir = located.place.dir.enter(located.place.name);
    const names = namesIn(dir, '', (name) => items.get(name)?.mode);
    dir.close();
    const mayGo = ({ name, readOnly }: Name): boolean => {
      const side = items.get(name)?.step.expect;
      return side !== undefined && (!readOnly || (side.kind === 'file' && (side.mode & 0o222) === 0));
    };
    if (names.length !== items.size || !names.every(mayGo)) return undefined;
    const doomed = [...[...inside].sort(byDepth).reverse(), root].map(({ step, context, stamp }) => ({
      path: context.path,
      side: step.expect.kind === 'file' ? { ...step.expect, kept: true } : step.expect,
      stamp,
    }));
    return folderOutStep(world, { action: root.context.action ?? 'undo', path, doomed });
  } finally {
    located.place.dir.close();
  }
}

interface Name {
  /** The entry's path relative to the folder. */
  readonly name: string;
  readonly readOnly: boolean;
}

/** All names below a folder. `modeOf`: the mode of a file, if it is known. */
function namesIn(dir: PinnedDirectory, prefix: string, modeOf: (name: string) => number | undefined): Name[] {
  const names: Name[] = [];
  for (const entry of listUnsorted(dir)) {
    const name = `${prefix}${entry.name}`;
    const mode = modeOf(name);
    const stats = entry.kind === 'file' && mode === undefined ? inspect(dir, entry.name) : undefined;
    const readOnly = mode === undefined ? stats !== undefined && isReadOnly(stats) : (mode & 0o222) === 0;
    names.push({ name, readOnly });
    if (entry.kind !== 'directory') continue;
    const inner = dir.enter(entry.name);
    for (const below of namesIn(inner, `${name}/`, modeOf)) names.push(below);
    inner.close();
  }
  return names;
}

/** Folders first: the key of a folder is shorter than all keys in it. */
function byDepth(a: RestorePlace, b: RestorePlace): number {
  return a.step.key.length - b.step.key.length;
}

/**
 * Creates a folder with its contents: `stage` builds it under a temporary name, and one rename
 * publishes it. `items` begin with the folder itself, and each folder precedes its contents. For
 * batches only, because the batch syncs the folder.
 */
function folderInStep(world: World, path: ResolvedPath, items: readonly Restoration[]): Step {
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
      return atPath(world, path, async (place) => {
        const temp = built;
        if (temp === undefined) return conflict('changed');
        if (!(await publishFolder(world.disk, place, temp))) return conflict('exists');
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
  // Record as seen only files that the session has seen before: the folder may hold very many other
  // files.
  const known = items.filter(({ context }) => context.known !== undefined || context.shown !== undefined);
  const sightings = known.flatMap(({ step, context }) => sightingsOf(world, step, context));
  return { ok: true, result, sightings, tombstones: [], displaced: [] };
}

/** Builds the tree of nodes that the items describe. */
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
    const { bytes } = context;
    const { fingerprint } = after;
    const content = async (): Promise<Content> =>
      bytes === undefined ? keptContent(world, fingerprint) : { bytes: await bytes(), fingerprint };
    return { kind: 'file', name, mode: after.mode, content, file: context.file };
  }
  const nodes: NewNode[] = [];
  inside.set(key, nodes);
  return { kind: 'folder', name, mode: after.kind === 'directory' ? after.mode : 0o755, nodes };
}
