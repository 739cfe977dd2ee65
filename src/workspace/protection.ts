import { type PathMatch, policyGlobMatcher } from '../text/glob/glob.ts';

const MAX_ANSWERS = 10_000;
const NONE: unique symbol = Symbol('no glob');

/** Tells which glob, if any, keeps a path from every session. Compared without regard to case, dot files included. */
export class Protection {
  readonly globs: readonly string[];
  readonly #folders: readonly { readonly path: string; readonly below: string }[];
  readonly #matchers: readonly { readonly glob: string; readonly matches: PathMatch }[];

  readonly #answers = new Map<string, string | typeof NONE>();

  /** `folders`: keys of folders that are off limits with everything below them, such as our own state. */
  constructor(globs: readonly string[], folders: readonly string[]) {
    this.globs = globs;
    this.#folders = folders.map((path) => ({ path, below: `${path}/` }));
    this.#matchers = globs.map((glob) => ({ glob, matches: policyGlobMatcher(glob) }));
  }

  /** The glob or folder that protects this file, or undefined. A folder that matches protects what is in it. */
  protects(relative: string, key: string): string | undefined {
    for (const { path, below } of this.#folders) if (key === path || key.startsWith(below)) return path;
    const answer = this.#remembered(relative);
    return answer === NONE ? undefined : answer;
  }

  /** How many levels below a folder the answer may depend on where the folder is. */
  reach(relative: string, key: string): number {
    if (this.#folders.some(({ path }) => path.startsWith(`${key}/`))) return Number.POSITIVE_INFINITY;
    return Math.max(0, ...this.globs.map((glob) => globReach(glob, relative)));
  }

  /** The globs never change, so a path asked about again, as most are, has the same answer, and so has its folder. */
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
 * How many levels below a folder a glob can tell that folder's place from another one: 0 if what is in it matches at any
 * place or at none, Infinity if every level has to be asked. The folder itself is known not to match.
 *
 * A glob that begins with any number of folders says nothing of where a path begins: it needs its own parts in a row, and only
 * where the first of them is the folder or above does the place count. Any other glob is about one place.
 */
export function globReach(glob: string, folder: string): number {
  if (/[{}()!\\]/.test(glob)) return Number.POSITIVE_INFINITY;
  const parts = glob.toLowerCase().split('/');
  const last = parts.at(-1) === '**' ? -1 : parts.length;
  if (parts[0] !== '**')
    return leadsInto(parts, folder.toLowerCase().split('/')) ? Number.POSITIVE_INFINITY : 0;
  const own = parts.slice(1, last);
  return own.includes('**') ? Number.POSITIVE_INFINITY : Math.max(0, own.length - 1);
}

/** May an anchored glob match something in the folder? As far as both have plain names, these must be the same. */
function leadsInto(parts: readonly string[], folder: readonly string[]): boolean {
  if (!parts.includes('**') && parts.length <= folder.length) return false;
  const magic = parts.findIndex((part) => /[*?[\]+@]/.test(part));
  const plain = magic < 0 ? parts : parts.slice(0, magic);
  return folder.every((name, index) => index >= plain.length || name === plain[index]);
}
