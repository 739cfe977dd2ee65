import { Fault } from '../model/fault.ts';
import type { ResolvedPath } from '../model/path.ts';
import { type Folding, foldPath, type Lexical, partsBelow, readPath, readWindowsPath } from './lexical.ts';
import type { Protection } from './protection.ts';
import { type Root, rootOf } from './walk.ts';

/** Agents name the same files repeatedly, so a small cache suffices. */
const MAX_REMEMBERED = 2000;
const MAX_REMEMBERED_LENGTH = 1024;

/** The meaning of a caller's path by its text alone, without reading the file system. */
export type Named =
  | NamedInside
  | { readonly kind: 'escapes' }
  | { readonly kind: 'invalid'; readonly reason: string };

export interface NamedInside {
  readonly kind: 'inside';
  readonly root: Root;
  readonly parts: readonly string[];
  /** The resolved path, assuming that it contains no link. */
  readonly path: ResolvedPath;
  /** Canonical path of the folder that contains the name, assuming no link on the path. */
  readonly folder: string;
}

/**
 * Turns strings into paths below the roots, and those into keys. Never reads the file system, so
 * results cannot go stale.
 */
export class Naming {
  readonly #roots: readonly Root[];
  readonly #folding: Folding;
  readonly #protection: Protection;
  readonly #remembered = new Map<string, NamedInside>();

  constructor(roots: readonly Root[], folding: Folding, protection: Protection) {
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

  /** Builds the resolved path of `parts` below a root. */
  resolved(root: Root, parts: readonly string[], given: string): ResolvedPath {
    const relative = parts.join('/');
    const prefix = root.canonical === '/' ? '' : root.canonical;
    const absolute = relative === '' ? root.canonical : `${prefix}/${relative}`;
    const path = { root: root.canonical, relative, absolute, key: foldPath(absolute, this.#folding), given };
    // This cast is the only place that creates a ResolvedPath.
    return path as ResolvedPath;
  }

  /** The path of a file that a journal records by its key. */
  known(key: string, relative: string): ResolvedPath {
    const root = this.#roots.find(({ canonical }) => partsBelow(canonical, key, this.#folding) !== undefined);
    const home = root ?? this.#roots[0];
    if (home === undefined) throw new Fault('MISUSE', `not a path of this workspace: ${relative}`);
    return this.resolved(home, relative.split('/'), relative);
  }

  /** The glob or folder that protects this path from every session; undefined if none. */
  protects(path: ResolvedPath): string | undefined {
    const own = this.#protection.protects(path.relative, path.key);
    if (own !== undefined || this.#roots.length === 1) return own;
    // With nested roots a file has a relative path in each of them, and a glob may match any of these.
    for (const root of this.#roots) {
      const parts = partsBelow(root.canonical, path.absolute, this.#folding);
      const glob = parts === undefined ? undefined : this.#protection.protects(parts.join('/'), path.key);
      if (glob !== undefined) return glob;
    }
    return undefined;
  }

  /** How many levels below a folder the protection depends on where the folder is. */
  reach({ relative, key }: ResolvedPath): number {
    return this.#roots.length > 1 ? Number.POSITIVE_INFINITY : this.#protection.reach(relative, key);
  }

  #read(input: string): Named {
    const lexical: Lexical = process.platform === 'win32' ? readWindowsPath(input) : readPath(input);
    if (lexical.kind === 'invalid') return lexical;
    if (lexical.kind === 'climbs') return { kind: 'escapes' };
    const home = this.#home(lexical);
    if (home === undefined) return { kind: 'escapes' };
    const { root, parts } = home;
    const path = this.resolved(root, parts, input);
    return { kind: 'inside', root, parts, path, folder: folderOf(path) };
  }

  #home(
    lexical: Extract<Lexical, { parts: unknown }>,
  ): { readonly root: Root; readonly parts: readonly string[] } | undefined {
    if (lexical.kind === 'absolute')
      return rootOf({ roots: this.#roots, folding: this.#folding }, lexical.path);
    const [root] = this.#roots;
    return root && { root, parts: lexical.parts };
  }
}

function folderOf({ root, relative, absolute }: ResolvedPath): string {
  return relative.includes('/') ? absolute.slice(0, absolute.lastIndexOf('/')) : root;
}
