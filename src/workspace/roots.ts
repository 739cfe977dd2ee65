import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { errnoOf, Fault, isMissing } from '../model/fault.ts';
import { isBelow, isWithin, type ResolvedPath } from '../model/path.ts';
import { type PathMatch, plainGlob, policyGlobMatcher } from '../text/glob/glob.ts';
import { foldPath, type NameComparison, partsBelow, readPath, readWindowsPath } from './lexical.ts';
import { type Guarantee, HeldDirectory, NamedDirectory, SharedDirectory, whereIs } from './pinned.ts';
import { type Root, rootOf } from './walk.ts';

/** The roots of a workspace, each held open. */
interface OpenedRoots {
  readonly roots: readonly Root[];
  /** Canonical paths of the read-only folders, which are roots or are inside one. */
  readonly readOnly: readonly string[];
}

/** Opens the roots. A read-only folder outside all of them becomes another root. */
export function openRoots(
  paths: readonly string[],
  readOnlyPaths: readonly string[],
  guarantee: Guarantee,
): OpenedRoots {
  const roots: Root[] = [];
  const readOnly: string[] = [];
  try {
    for (const path of paths) roots.push(openRoot(path, guarantee));
    for (const path of readOnlyPaths) {
      const root = openRoot(path, guarantee);
      readOnly.push(root.canonical);
      const isInside = roots.some(({ canonical }) => isWithin(root.canonical, canonical));
      if (isInside) root.dir.close();
      else roots.push(root);
    }
  } catch (error) {
    for (const root of roots) root.dir.close();
    throw error;
  }
  return { roots, readOnly };
}

function openRoot(given: string, guarantee: Guarantee): Root {
  if (typeof given !== 'string' || !isAbsolute(given)) {
    const elsewhere = elsewhereText(String(given));
    if (elsewhere !== undefined)
      throw new Fault('CONFIG_INVALID', elsewhere, { path: given, reason: 'elsewhere' });
    throw new Fault('CONFIG_INVALID', `a workspace root must be an absolute path: ${given}`, {
      path: given,
      reason: 'relative',
    });
  }
  let canonical: string;
  try {
    canonical = slashes(realpathSync.native(given));
    if (!statSync(canonical).isDirectory()) {
      throw new Fault('CONFIG_INVALID', `the workspace root is not a folder; name a folder: ${given}`, {
        path: given,
        reason: 'not-a-directory',
      });
    }
    const root = { canonical, given: trimmed(given) };
    if (guarantee !== 'walk') {
      const named = new NamedDirectory(canonical);
      return { ...root, dir: named, shared: named };
    }
    const dir = HeldDirectory.open(canonical);
    const held = { ...root, dir, shared: new SharedDirectory(dir) };
    // Set `where` only if the kernel reports `canonical` as the root's path now. Otherwise a later
    // difference would not prove that the root was moved.
    return whereIs(dir) === canonical ? { ...held, where: () => whereIs(dir) } : held;
  } catch (error) {
    if (error instanceof Fault) throw error;
    const message = isMissing(error)
      ? `the workspace root does not exist; create it or name another one: ${given}`
      : `the workspace root cannot be opened (${errnoOf(error) ?? String(error)}): ${given}`;
    throw new Fault('CONFIG_INVALID', message, {
      cause: error,
      path: given,
      reason: isMissing(error) ? 'missing' : 'unreadable',
    });
  }
}

function trimmed(path: string): string {
  const clean = process.platform === 'win32' ? readWindowsPath(path) : readPath(path);
  return clean.kind === 'absolute' ? clean.path : slashes(path);
}

function slashes(path: string): string {
  return process.platform === 'win32' ? path.replaceAll('\\', '/') : path;
}

/**
 * An absolute path with its links resolved. Names that do not exist, or cannot be read, stay as
 * given.
 */
export function canonicalName(path: string): string {
  try {
    return slashes(realpathSync.native(path));
  } catch {
    const folder = dirname(path);
    return folder === path ? path : slashes(join(canonicalName(folder), basename(path)));
  }
}

/**
 * Maximum number of cached paths. A full cache is emptied. Agents name the same files repeatedly. A
 * line that names thousands of files is judged in several passes over them.
 */
const MAX_REMEMBERED = 20_000;
const MAX_REMEMBERED_LENGTH = 1024;

/**
 * The meaning of a caller's path, as far as its text alone shows it. The file system is not read.
 */
type Named =
  | NamedInside
  | { readonly kind: 'escapes' }
  | { readonly kind: 'invalid'; readonly reason: string };

interface NamedInside {
  readonly kind: 'inside';
  readonly root: Root;
  readonly parts: readonly string[];
  /** The resolved path, assuming that it contains no link. */
  readonly path: ResolvedPath;
  /** The glob or folder that protects that path. */
  readonly protectedBy: string | undefined;
}

/**
 * Turns a caller's strings into paths below the roots, and paths into keys. Never reads the file
 * system, so its results cannot go stale.
 */
export class WorkspacePaths {
  readonly #roots: readonly Root[];
  readonly #folding: NameComparison;
  readonly #protection: Protection;
  readonly #remembered = new Map<string, NamedInside>();

  constructor(roots: readonly Root[], folding: NameComparison, protection: Protection) {
    this.#roots = roots;
    this.#folding = folding;
    this.#protection = protection;
  }

  read(input: string): Named {
    const known = this.#remembered.get(input);
    if (known !== undefined) return known;
    const named = this.#read(input);
    if (named.kind === 'inside' && input.length <= MAX_REMEMBERED_LENGTH) {
      if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
      this.#remembered.set(input, named);
    }
    return named;
  }

  /** Forgets what paths mean, after a root was added or removed. */
  forget(): void {
    this.#remembered.clear();
  }

  /** A path, and the glob or folder that protects it. */
  reached(root: Root, parts: readonly string[], given: string): Pick<NamedInside, 'path' | 'protectedBy'> {
    const path = this.resolved(root, parts, given);
    return { path, protectedBy: this.protects(path) };
  }

  resolved(root: Root, parts: readonly string[], given: string): ResolvedPath {
    const relative = parts.join('/');
    const prefix = root.canonical === '/' ? '' : root.canonical;
    const absolute = relative === '' ? root.canonical : `${prefix}/${relative}`;
    const path = { root: root.canonical, relative, absolute, key: foldPath(absolute, this.#folding), given };
    // This cast and the one in `beside` are the only places that create a ResolvedPath.
    return path as ResolvedPath;
  }

  /** The path of another name in the folder of `path`. */
  beside(path: ResolvedPath, name: string): ResolvedPath {
    const { root, relative, absolute, key } = path;
    const sibling = (of: string): string => `${of.slice(0, of.lastIndexOf('/') + 1)}${name}`;
    const folded = foldPath(name, this.#folding);
    return {
      root,
      relative: sibling(relative),
      absolute: sibling(absolute),
      key: `${key.slice(0, key.lastIndexOf('/') + 1)}${folded}`,
      given: sibling(absolute),
    } as ResolvedPath;
  }

  /**
   * The path of a file that a journal records by its key. `relative`: its path below the root of
   * the session that recorded it. The key may be in lower case, so the spelling of the names comes
   * from `relative`. If roots are nested, the result is relative to the innermost one.
   */
  known(key: string, relative: string): ResolvedPath {
    const names = relative.split('/');
    const home = rootOf({ roots: this.#roots, folding: this.#folding }, key);
    if (home !== undefined) {
      const above = home.parts.slice(0, Math.max(0, home.parts.length - names.length));
      const below = names.slice(Math.max(0, names.length - home.parts.length));
      return this.resolved(home.root, [...above, ...below], relative);
    }
    const [first] = this.#roots;
    if (first === undefined) throw new Fault('MISUSE', `not a path of this workspace: ${relative}`);
    return this.resolved(first, names, relative);
  }

  /** The glob or folder that protects this path from every session; undefined if none. */
  protects(path: ResolvedPath): string | undefined {
    const own = this.#protection.protects(path.relative, path.key);
    if (own !== undefined || this.#roots.length === 1) return own;
    // Check the path relative to every root that contains the file: roots may be nested, and a glob
    // may match any of these paths.
    for (const root of this.#roots) {
      const parts = partsBelow(root.canonical, path.absolute, this.#folding);
      const glob = parts === undefined ? undefined : this.#protection.protects(parts.join('/'), path.key);
      if (glob !== undefined) return glob;
    }
    return undefined;
  }

  /**
   * A move of a folder changes the paths of the files in it. So a file that is not protected may
   * become protected, or the other way round. Returns the number of levels below the folder on
   * which this can happen. A move must check the files on these levels.
   */
  reach({ relative, key }: ResolvedPath): number {
    return this.#roots.length > 1 ? Number.POSITIVE_INFINITY : this.#protection.reach(relative, key);
  }

  #read(input: string): Named {
    const lexical = this.#lexical(input);
    if (lexical.kind === 'invalid') return lexical;
    if (lexical.kind === 'climbs') return { kind: 'escapes' };
    const home = this.#home(lexical);
    if (home === undefined) return { kind: 'escapes' };
    const { root, parts } = home;
    return { kind: 'inside', root, parts, ...this.reached(root, parts, input) };
  }

  /**
   * With several roots, a relative path may climb out of the first root, because it may lead into
   * another one.
   */
  #lexical(input: string): ReturnType<typeof readPath> {
    const read = process.platform === 'win32' ? readWindowsPath : readPath;
    const lexical = read(input);
    const [first, second] = this.#roots;
    if (lexical.kind !== 'climbs' || first === undefined || second === undefined) return lexical;
    return read(`${first.canonical}/${input}`);
  }

  #home(
    lexical: Extract<ReturnType<typeof readPath>, { parts: unknown }>,
  ): { readonly root: Root; readonly parts: readonly string[] } | undefined {
    if (lexical.kind === 'absolute')
      return rootOf({ roots: this.#roots, folding: this.#folding }, lexical.path);
    const [root] = this.#roots;
    return root && { root, parts: lexical.parts };
  }
}

const MAX_ANSWERS = 10_000;
const NONE: unique symbol = Symbol('no glob');

/**
 * Finds the glob, if any, that protects a path from every session. Ignores case; wildcards also
 * match dot files.
 */
export class Protection {
  readonly globs: readonly string[];
  readonly #folders: readonly { readonly path: string; readonly below: string }[];
  readonly #matchers: readonly { readonly glob: string; readonly matches: PathMatch }[];

  readonly #answers = new Map<string, string | typeof NONE>();

  /** `folders`: keys of folders that are protected with everything below them, such as our own state folder. */
  constructor(globs: readonly string[], folders: readonly string[]) {
    this.globs = globs;
    this.#folders = folders.map((path) => ({ path, below: `${path}/` }));
    this.#matchers = globs.map((glob) => ({ glob, matches: policyGlobMatcher(glob) }));
  }

  /**
   * The glob or folder that protects this file; undefined if none. A protected folder protects its
   * contents.
   */
  protects(relative: string, key: string): string | undefined {
    for (const { path, below } of this.#folders) if (key === path || key.startsWith(below)) return path;
    const answer = this.#remembered(relative);
    return answer === NONE ? undefined : answer;
  }

  /**
   * A move of a folder changes the paths of the files in it. So a file that is not protected may
   * become protected, or the other way round. Returns the number of levels below the folder on
   * which this can happen. A move must check the files on these levels.
   */
  reach(relative: string, key: string): number {
    if (this.#folders.some(({ path }) => isBelow(path, key))) return Number.POSITIVE_INFINITY;
    return Math.max(0, ...this.globs.map((glob) => globReach(glob, relative)));
  }

  /**
   * The glob that protects this path, or NONE. Answers are cached and never expire, because the
   * globs never change. A glob that protects a folder is also the answer for everything in it.
   */
  #remembered(relative: string): string | typeof NONE {
    const known = this.#answers.get(relative);
    if (known !== undefined) return known;
    const slash = relative.lastIndexOf('/');
    const above = slash > 0 ? this.#remembered(relative.slice(0, slash)) : NONE;
    const answer = above === NONE ? this.#matching(relative) : above;
    if (this.#answers.size >= MAX_ANSWERS) this.#answers.clear();
    this.#answers.set(relative, answer);
    return answer;
  }

  #matching(relative: string): string | typeof NONE {
    if (relative === '') return NONE;
    for (const { glob, matches } of this.#matchers) if (matches(relative)) return glob;
    return NONE;
  }
}

/**
 * The number of levels below `folder` on which the folder's own path can decide whether the glob
 * matches a name. For example, the glob `a/b` at any depth gives 1: it matches `b` in `folder` if
 * `folder` is named `a`. Deeper names match or not, whatever the folder's path is. Infinity: the
 * path may decide on every level. The glob must not match `folder` itself.
 */
export function globReach(glob: string, folder: string): number {
  if (/[{}()!\\]/.test(glob)) return Number.POSITIVE_INFINITY;
  const parts = plainGlob(glob).toLowerCase().split('/');
  const last = parts.at(-1) === '**' ? -1 : parts.length;
  if (parts[0] !== '**')
    return leadsInto(parts, folder.toLowerCase().split('/')) ? Number.POSITIVE_INFINITY : 0;
  const own = parts.slice(1, last);
  return own.includes('**') ? Number.POSITIVE_INFINITY : Math.max(0, own.length - 1);
}

/**
 * True if a glob that does not begin with `**` may match something in the folder. Compares the
 * folder with the glob's parts before the first wildcard.
 */
function leadsInto(parts: readonly string[], folder: readonly string[]): boolean {
  if (!parts.includes('**') && parts.length <= folder.length) return false;
  const magic = parts.findIndex((part) => /[*?[\]+@]/.test(part));
  const plain = magic < 0 ? parts : parts.slice(0, magic);
  return folder.every((name, index) => index >= plain.length || name === plain[index]);
}

/**
 * The reason why this machine cannot open a root that another machine recorded in a shared store.
 * Such a root begins with `machine:` or `workspace:` (see `Names` in store/postgres). Undefined for
 * an ordinary path.
 */
function elsewhereText(root: string): string | undefined {
  const [, kind, name = '', path = ''] = /^(machine|workspace):([^/]+)(.*)$/s.exec(root) ?? [];
  if (kind === 'machine')
    return `this was recorded in ${path || '/'} on the machine ${name}: run the command there`;
  if (kind === 'workspace')
    return `the workspace ${name} has no folder on this machine: run the command in a copy of it, with --workspace ${name}`;
  return undefined;
}
