import type { FileIntent } from '../model/intent.ts';
import { type Outcome, type Refusal, refused } from '../model/verdict.ts';
import type { Located } from '../workspace/workspace.ts';
import { routeOf } from './prepare-relocation.ts';
import type { World } from './world.ts';

/**
 * The keys of every file that changes will touch, for locking. A path that cannot be resolved has none and is refused
 * later, with its reason. Two changes of one file in one batch are refused, and so are changes in a folder that the same
 * batch moves, deletes or makes a file: the second would not know the first.
 */
export function keysOf(world: World, changes: readonly FileIntent[]): Outcome<{ keys: readonly string[] }> {
  const [only] = changes;
  if (only !== undefined && changes.length === 1 && only.kind !== 'move' && routeOf(only) === undefined) {
    // Nearly always the name says it all. Whatever a link or a missing folder adds is asked for once it is known.
    const key = world.workspace.keyOf(only.path);
    return { ok: true, keys: key === undefined ? [] : [key] };
  }
  const touched = changes.flatMap((change) =>
    pathsOf(change).flatMap((path, index) => {
      const found = keyOf(world, path, change);
      return found === undefined ? [] : [{ ...found, path, change, role: roleOf(change, index) }];
    }),
  );
  if (changes.length > 1) {
    const roles = new Map<string, Role[]>();
    for (const each of touched) {
      const known = roles.get(each.key) ?? [];
      if (!maySharePlace(known, each.role)) return refused(twice(each, TWICE));
      roles.set(each.key, [...known, each.role]);
    }
    const inside = insideAnother(touched);
    if (inside !== undefined) return refused(inside);
  }
  return { ok: true, keys: touched.flatMap(lockedBy) };
}

function lockedBy({ key, folder }: Pick<Touched, 'key' | 'folder'>): readonly string[] {
  return folder === undefined ? [key] : [key, folder];
}

/** What a change does at a path: the file leaves it, another comes, or it changes in its place. */
type Role = 'leaves' | 'comes' | 'changes';

function roleOf(change: FileIntent, index: number): Role {
  if (routeOf(change) === undefined) return 'changes';
  return index === 0 ? 'leaves' : 'comes';
}

/** One file may come to where another one leaves. */
function maySharePlace(known: readonly Role[], role: Role): boolean {
  if (known.length === 0) return true;
  return known.length === 1 && role !== 'changes' && !known.includes('changes') && !known.includes(role);
}

interface Touched {
  readonly key: string;
  /** The outermost folder that has to be made for it. */
  readonly folder: string | undefined;
  readonly path: string;
  readonly change: FileIntent;
}

/** Why a path cannot be below one that another change takes away, or makes a file. */
function insideAnother(touched: readonly Touched[]): Refusal | undefined {
  const byKey = new Map(touched.map((each) => [each.key, each.change]));
  for (const { key, path, change } of touched) {
    for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) {
      const around = byKey.get(key.slice(0, end));
      if (around !== undefined && around !== change && around.kind !== 'mkdir')
        return twice({ path, change }, INSIDE[around.kind]);
    }
  }
  return undefined;
}

const TWICE = 'the batch changes this file twice; join the changes into one, or make two batches of it';
const GOES = 'the batch moves or deletes the folder around it; make two batches of it';
const BECOMES_A_FILE = 'the batch makes a file of the folder around it';
const INSIDE: Readonly<Record<Exclude<FileIntent['kind'], 'mkdir'>, string>> = {
  move: GOES,
  delete: GOES,
  write: BECOMES_A_FILE,
  edit: BECOMES_A_FILE,
  insert: BECOMES_A_FILE,
};

export function pathsOf(change: FileIntent): readonly string[] {
  const route = routeOf(change);
  if (route !== undefined) return [route.from, route.to];
  return 'path' in change ? [change.path] : [];
}

/** A link that is deleted or moved is locked under its own name, one that is written through under its target's. */
function keyOf(world: World, path: string, change: FileIntent): Pick<Touched, 'key' | 'folder'> | undefined {
  const links = change.kind === 'delete' || routeOf(change) !== undefined ? 'parents' : 'all';
  const outcome = world.workspace.locate(path, 'status', links);
  if (!outcome.ok) return undefined;
  outcome.located.place.dir.close();
  return { key: outcome.located.place.path.key, folder: missingFolder(outcome.located) };
}

/** The key of the outermost folder that is missing above a path. */
export function missingFolder(located: Located): string | undefined {
  if (located.exists || located.missing.length < 2) return undefined;
  return located.place.path.key
    .split('/')
    .slice(0, 1 - located.missing.length)
    .join('/');
}

/** The keys that are neither locked nor in a locked folder. */
export function notLocked(keys: readonly string[], locked: readonly string[]): readonly string[] {
  const all = new Set(locked);
  return keys.filter((key) => !all.has(key) && !isBelowOne(key, all));
}

/** Keys without those that lie in another one of them: whoever locks a folder has everything in it. */
export function outermostKeys(keys: readonly string[]): readonly string[] {
  const all = new Set(keys);
  return [...all].filter((key) => !isBelowOne(key, all));
}

function isBelowOne(key: string, folders: ReadonlySet<string>): boolean {
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1))
    if (folders.has(key.slice(0, end))) return true;
  return false;
}

function twice({ path, change }: Pick<Touched, 'path' | 'change'>, reason: string): Refusal {
  const action = change.kind === 'write' ? 'overwrite' : change.kind;
  return { code: 'INVALID_ARGUMENT', action, path, next: 'fix_argument', detail: { reason } };
}
