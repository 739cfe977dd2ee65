import { type BigIntStats, lstatSync, readlinkSync } from 'node:fs';
import { dirname, join, parse, resolve, sep } from 'node:path';
import { errnoOf, unlessErrno } from '../model/fault.ts';
import type { PinnedDirectory } from '../model/path.ts';
import { type NameComparison, partsBelow } from './lexical.ts';

/** The number of symbolic links that may be followed on one path, as in the Linux kernel. */
const MAX_LINKS = 40;
/**
 * Maximum number of retries if an entry keeps changing between a link and something else. After the
 * last retry, the walk fails with EBUSY.
 */
const MAX_RETRIES = 64;

const LSTAT = { bigint: true, throwIfNoEntry: false } as const;

/** A root: its canonical path, its path as given, and the directory itself. */
export interface Root {
  readonly canonical: string;
  readonly given: string;
  readonly dir: PinnedDirectory;
  /** The directory for callers who close what they get. Closing it leaves `dir` open. */
  readonly shared: PinnedDirectory;
  /** Reports the directory's current path; absent if the system cannot report it. */
  readonly where?: () => string | undefined;
}

type Walked =
  | {
      readonly kind: 'found';
      readonly root: Root;
      readonly dir: PinnedDirectory;
      readonly parts: readonly string[];
      readonly stats: BigIntStats;
    }
  | {
      readonly kind: 'missing';
      readonly root: Root;
      /** The deepest directory that exists; `missing` lists the names below it that do not. */
      readonly dir: PinnedDirectory;
      readonly parts: readonly string[];
      readonly missing: readonly string[];
    }
  | { readonly kind: 'escapes' }
  | { readonly kind: 'failed'; readonly errno: string };

interface Walk {
  readonly roots: readonly Root[];
  readonly folding: NameComparison;
  readonly root: Root;
  readonly parts: readonly string[];
  /**
   * `all`: links are followed. `parents`: if the last part is a link, it is not followed, because a
   * delete or a move concerns the link itself.
   */
  readonly links: 'all' | 'parents';
}

/**
 * Walks from a root to a name, one component at a time, through handles. We read and follow links
 * ourselves, inside the roots only; the kernel follows none. The caller owns the returned directory
 * and must close it. Never queries anything outside the roots, so results do not reveal what exists
 * there.
 */
export function walk(request: Walk): Walked {
  const { root, parts, links } = request;
  const name = parts.at(-1);
  const dir = name === undefined ? undefined : folderOf(request);
  if (name === undefined || dir === undefined) return walkLinks(request);
  // Most paths have no links.
  try {
    const stats = lstatSync(`${dir.prefix}/${name}`, LSTAT);
    if (stats === undefined) return { kind: 'missing', root, dir, parts, missing: [name] };
    if (links === 'parents' || !stats.isSymbolicLink()) return { kind: 'found', root, dir, parts, stats };
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
  dir.close();
  return walkLinks(request);
}

/**
 * Opens the folder that contains the last part of the path. Undefined if a component before it is
 * missing or not a plain folder.
 */
function folderOf({ root, parts }: Walk): PinnedDirectory | undefined {
  let dir: PinnedDirectory = root.shared;
  for (let index = 0; index < parts.length - 1; index += 1) {
    const inner = tryEnter(dir, parts[index] ?? '');
    dir.close();
    if (typeof inner === 'string') return undefined;
    dir = inner;
  }
  return dir;
}

function walkLinks(request: Walk): Walked {
  const state: State = {
    ...request,
    done: [],
    todo: [...request.parts],
    hops: 0,
    retries: 0,
    dir: undefined,
  };
  try {
    for (;;) {
      const walked = step(state);
      if (walked !== undefined) return walked;
    }
  } catch (error) {
    state.dir?.close();
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return { kind: 'failed', errno };
  }
}

interface State {
  readonly roots: readonly Root[];
  readonly folding: NameComparison;
  readonly links: Walk['links'];
  root: Root;
  /**
   * The directory that the walk has reached by the names in `done`; undefined if it is the root.
   */
  dir: PinnedDirectory | undefined;
  done: string[];
  todo: string[];
  hops: number;
  retries: number;
}

function step(state: State): Walked | undefined {
  const name = state.todo[0];
  const dir = state.dir ?? state.root.dir;
  if (name === undefined) return atRoot(state);
  if (name === '..') return climb(state);
  if (state.todo.length > 1) {
    const entered = tryEnter(dir, name);
    if (typeof entered !== 'string') {
      state.dir?.close();
      state.dir = entered;
      state.done.push(name);
      state.todo.shift();
      return undefined;
    }
    if (entered === 'ENOENT') return missing(state);
    return entered === 'ENOTDIR' ? follow(state, `${dir.prefix}/${name}`) : fail(state, entered);
  }
  const stats = lstatSync(`${dir.prefix}/${name}`, LSTAT);
  if (stats === undefined) return missing(state);
  if (stats.isSymbolicLink() && state.links === 'all') {
    return follow(state, `${dir.prefix}/${name}`);
  }
  return { kind: 'found', root: state.root, dir: own(state), parts: [...state.done, name], stats };
}

/**
 * Handles `..`, which only occurs in link targets. As in the kernel, `..` leads to the parent of
 * the directory that the walk has really reached. If that directory is a root, the remaining names
 * may lead back into a root. Their text alone shows this, because a root's canonical path has no
 * links.
 */
function climb(state: State): Walked | undefined {
  const rest = state.todo.slice(1);
  if (state.done.length > 0) {
    restart(state, state.root, [...state.done.slice(0, -1), ...rest]);
    return undefined;
  }
  // Compare paths above a root only as text, so that results reveal nothing about outside folders.
  const home = rootOf(state, above(state.root.canonical, rest));
  if (home === undefined) return escapes(state);
  restart(state, home.root, [...home.parts]);
  return undefined;
}

/** Appends `names` to the parent folder of a root. Each leading `..` climbs one further level. */
function above(root: string, names: readonly string[]): string {
  let folder = dirname(root);
  let first = 0;
  for (; names[first] === '..'; first += 1) folder = dirname(folder);
  return `${folder}/${names.slice(first).join('/')}`;
}

/** Opens a directory inside `dir`. Returns the errno if it cannot be opened. */
function tryEnter(dir: PinnedDirectory, name: string): PinnedDirectory | string {
  try {
    return dir.enter(name);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno;
  }
}

/** Replaces a link by its target. If the name is not, or no longer, a link, retries or fails. */
function follow(state: State, path: string): Walked | undefined {
  let target: string;
  try {
    target = readlinkSync(path);
    // Fail if the target is not UTF-8: decoded, it would become another name, which may exist.
    if (target.includes('\ufffd') && !readlinkSync(path, 'buffer').equals(Buffer.from(target)))
      return fail(state, 'EILSEQ');
  } catch (error) {
    const why = errnoOf(error);
    if (why !== 'EINVAL' && why !== 'ENOENT') return fail(state, why ?? 'EIO');
    // The entry was deleted, became a directory, or was never a link. Fail if it is a file where
    // the path needs a directory. Otherwise the caller tries the name again.
    state.retries += 1;
    if (state.todo.length > 1 && isNoDirectory(path)) return fail(state, 'ENOTDIR');
    return state.retries > MAX_RETRIES ? fail(state, 'EBUSY') : undefined;
  }
  state.hops += 1;
  if (state.hops > MAX_LINKS) return fail(state, 'ELOOP');
  return splice(state, target) ? undefined : escapes(state);
}

function isNoDirectory(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && !stats.isDirectory() && !stats.isSymbolicLink();
}

/** Replaces a link's name by its target; false if the target is an absolute path outside every root. */
function splice(state: State, target: string): boolean {
  const rest = state.todo.slice(1);
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  if (!target.startsWith('/')) {
    restart(state, state.root, [...state.done, ...parts, ...rest]);
    return true;
  }
  const home = rootOf(state, `/${parts.join('/')}`);
  if (home === undefined) return false;
  restart(state, home.root, [...home.parts, ...rest]);
  return true;
}

/** Restarts at a root and walks all names again, because a directory we passed may have been moved meanwhile. */
function restart(state: State, root: Root, todo: string[]): void {
  state.dir?.close();
  state.dir = undefined;
  state.root = root;
  state.done = [];
  state.todo = todo;
}

/**
 * The root that contains an absolute path, by its canonical or its given spelling; the innermost if
 * roots nest.
 */
export function rootOf(
  workspace: { readonly roots: readonly Root[]; readonly folding: NameComparison },
  path: string,
): { readonly root: Root; readonly parts: string[] } | undefined {
  let best: { readonly root: Root; readonly parts: string[] } | undefined;
  for (const root of workspace.roots) {
    const parts =
      partsBelow(root.canonical, path, workspace.folding) ?? partsBelow(root.given, path, workspace.folding);
    if (parts !== undefined && (best === undefined || parts.length < best.parts.length))
      best = { root, parts };
  }
  return best;
}

function atRoot(state: State): Walked {
  const stats = lstatSync(`${state.root.dir.prefix}/.`, { bigint: true });
  return { kind: 'found', root: state.root, dir: own(state), parts: [], stats };
}

function missing(state: State): Walked {
  // `todo` still has a `..` only if a link's target has one after a missing folder. Fail then, because
  // `missing` must contain only names that can be created.
  if (state.todo.includes('..')) return fail(state, 'ENOENT');
  return {
    kind: 'missing',
    root: state.root,
    dir: own(state),
    parts: [...state.done, ...state.todo],
    missing: [...state.todo],
  };
}

function own(state: State): PinnedDirectory {
  return state.dir ?? state.root.shared;
}

function fail(state: State, errno: string): Walked {
  state.dir?.close();
  return { kind: 'failed', errno };
}

function escapes(state: State): Walked {
  state.dir?.close();
  return { kind: 'escapes' };
}

/** The target of an absolute path, and the links followed on the way, each with its canonical path. */
interface LinksOn {
  readonly target: string;
  readonly links: readonly string[];
}

/**
 * Follows the links of a path, component by component. A component that is missing or cannot be
 * read counts as no link.
 */
export function linksOn(path: string): LinksOn {
  const links: string[] = [];
  let current = parse(resolve(path)).root;
  let rest = partsOf(path);
  for (let [name] = rest; name !== undefined; [name] = rest) {
    rest = rest.slice(1);
    const next = join(current, name);
    const target = links.length < MAX_LINKS ? linkTarget(next) : undefined;
    if (target === undefined) {
      current = next;
      continue;
    }
    links.push(next);
    const full = resolve(dirname(next), target);
    rest = [...partsOf(full), ...rest];
    current = parse(full).root;
  }
  return { target: current, links };
}

function partsOf(path: string): string[] {
  const full = resolve(path);
  return full
    .slice(parse(full).root.length)
    .split(sep)
    .filter((part) => part !== '');
}

function linkTarget(path: string): string | undefined {
  return unlessErrno(() => (lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined));
}

/** The number of hard links to a file; 0 if it does not exist. */
export function linkCount(file: string): number {
  return lstatSync(file, { throwIfNoEntry: false })?.nlink ?? 0;
}
