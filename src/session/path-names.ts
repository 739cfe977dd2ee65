import { posix } from 'node:path';
import type { FileIntent, HostIntent, Intent } from '../model/intent.ts';
import { isOutputPath, OUTPUT_SCHEME } from '../model/path.ts';
import { isRecord } from '../model/record.ts';
import type { WitnessEvent } from '../model/results.ts';

/**
 * Converts paths between the caller's form and the form that the workspace uses.
 */
export interface PathNames {
  /**
   * Converts a caller's path to the workspace's form. A converter from `callNames` also remembers
   * what the caller wrote.
   */
  real(path: string): string;
  /**
   * Converts a path in a result to the caller's form. A converter from `callNames` returns a path
   * that the caller gave exactly as the caller wrote it.
   */
  shown(path: string): string;
}

/** For a caller whose relative paths start at the first root, as those of the workspace do. */
export const AS_GIVEN: PathNames = { real: (path) => path, shown: (path) => path };

/** The folders that determine the caller's form of paths. */
interface Placement {
  /** The absolute path of the first root. */
  readonly root: string;
  /**
   * The folder where the caller's relative paths start, inside a root. Absolute or relative to the
   * first root; default: the first root.
   */
  readonly cwd?: string | undefined;
  /** The absolute path by which the caller names the first root. Results show paths below it. */
  readonly virtualRoot?: string | undefined;
}

/** The path under which a session can read the full output of one of its commands. */
export function outputPath(id: string): string {
  return `${OUTPUT_SCHEME}${id}`;
}

export function outputId(path: string): string {
  return path.slice(OUTPUT_SCHEME.length);
}

/**
 * Converts between the caller's form of paths and the workspace's. Unlike the result of `callNames`, it remembers
 * nothing and can be shared.
 */
export type PathForm = PathNames;

export function pathForm(placement: Placement): PathForm {
  const { virtualRoot } = placement;
  return virtualRoot === undefined ? fromFolder(placement) : belowVirtual(placement, virtualRoot);
}

/**
 * Converts the paths of one call and of its result, and remembers how the caller wrote each path. Do not share it
 * between calls.
 */
export function callNames(form: PathForm): PathNames {
  const given = new Map<string, string>();
  return {
    real: (path) => {
      // Leave unusable paths unchanged: the workspace refuses them. Also leave the name of a
      // command's kept output unchanged: it is no path.
      if (typeof path !== 'string' || path === '' || isOutputPath(path)) return path;
      const meant = form.real(path);
      given.set(meant, path);
      return meant;
    },
    shown: (path) => (path === '' || isOutputPath(path) ? path : (given.get(path) ?? form.shown(path))),
  };
}

function fromFolder({ root, cwd = '.' }: Placement): PathForm {
  const folder = below(root, cwd);
  return {
    real: (path) => (isAbsolute(path) ? path : below(folder, path)),
    shown: (path) =>
      isAbsolute(path) ? path : posix.relative(posix.normalize(folder), below(root, path)) || '.',
  };
}

function belowVirtual({ root, cwd = '.' }: Placement, virtualRoot: string): PathForm {
  const virtual = withoutSlash(virtualRoot);
  const start = `${virtual}/`;
  const home = withoutSlash(root);
  const folder = below(root, cwd);
  return {
    real: (path) => {
      if (path === virtual || path.startsWith(start)) return `${home}/${path.slice(start.length)}`;
      return isAbsolute(path) ? path : below(folder, path);
    },
    shown: (path) => {
      const absolute = posix.normalize(below(folder, path));
      if (absolute === posix.normalize(root)) return virtual === '' ? '/' : virtual;
      return absolute.startsWith(`${home}/`) ? `${virtual}/${absolute.slice(home.length + 1)}` : path;
    },
  };
}

/** True for an absolute path, including a drive or a share on Windows. */
function isAbsolute(path: string): boolean {
  return posix.isAbsolute(path) || /^(?:[A-Za-z]:[\\/]|\\\\)/.test(path);
}

/** Joins without normalising: the workspace has its own rule for `..`. */
function below(folder: string, path: string): string {
  return isAbsolute(path) ? path : `${withoutSlash(folder)}/${path}`;
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.replace(/\/+$/, '') : path;
}

/**
 * Members of results and refusals that are paths (`PATHS`), lists of paths (`LISTS`), or objects
 * with such members (`HOLDERS`).
 */
const PATHS: ReadonlySet<string> = new Set(['path', 'source', 'destination', 'moveTo', 'absolute']);
const LISTS: ReadonlySet<string> = new Set(['paths', 'merged', 'leftOut', 'droppedBits', 'scratch']);
const HOLDERS: ReadonlySet<string> = new Set([
  'refusal',
  'detail',
  'refusals',
  'notices',
  'files',
  'results',
  'hits',
]);

/**
 * Returns a result or refusal with its paths in the caller's form. Entries of a listing stay
 * relative to the listed folder. The result of a read is changed in place, because a copy would
 * have to compute its text, which is otherwise computed only when needed.
 */
export function withShownPaths<T>(value: T, names: Pick<PathNames, 'shown'>): T {
  if (names === AS_GIVEN) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => withShownPaths(item, names)) as T;
  if (!isRecord(value)) return value;
  if ('totalLines' in value && 'encoding' in value)
    return Object.assign(value, { path: shownOf(value['path'], names) });
  // The cast is safe: the members are the same, only their texts differ.
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, renamed(key, member, names)]),
  ) as T;
}

function renamed(key: string, member: unknown, names: Pick<PathNames, 'shown'>): unknown {
  if (PATHS.has(key)) return shownOf(member, names);
  if (LISTS.has(key) && Array.isArray(member)) return member.map((path) => shownOf(path, names));
  return HOLDERS.has(key) ? withShownPaths(member, names) : member;
}

function shownOf(path: unknown, { shown }: Pick<PathNames, 'shown'>): unknown {
  return typeof path === 'string' ? shown(path) : path;
}

/** An intent with its paths in the workspace's form. A malformed intent stays unchanged, for the gate to refuse. */
export function withRealPaths<T extends Intent | HostIntent | WitnessEvent>(intent: T, names: PathNames): T {
  if (names === AS_GIVEN || !isRecord(intent)) return intent;
  const { changes } = intent as { changes?: readonly FileIntent[] };
  if (Array.isArray(changes)) return { ...intent, changes: changes.map((one) => withRealPaths(one, names)) };
  const entries = Object.entries(intent).map(([key, member]): [string, unknown] =>
    PATHS.has(key) && typeof member === 'string' ? [key, names.real(member)] : [key, member],
  );
  // The cast is safe: the members are the same, only their texts differ.
  return Object.fromEntries(entries) as T;
}
