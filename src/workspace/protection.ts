import { type PathMatch, policyGlobMatcher } from '../text/glob/glob.ts';

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

  /** How many levels below a folder the protection depends on where the folder is. */
  reach(relative: string, key: string): number {
    if (this.#folders.some(({ path }) => path.startsWith(`${key}/`))) return Number.POSITIVE_INFINITY;
    return Math.max(0, ...this.globs.map((glob) => globReach(glob, relative)));
  }

  /**
   * The cached answer. It never expires, because the globs never change; a folder's answer also
   * serves its contents.
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
 * How many levels below a folder a match of the glob depends on where that folder is. 0: its
 * contents match everywhere or nowhere. Infinity: every level must be checked. The folder itself is
 * known not to match.
 *
 * A glob that begins with `**` matches its remaining parts anywhere. The folder's place matters
 * only if the first of these parts is the folder or above it. Any other glob names one place.
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

/** Whether an anchored glob may match something in the folder. Compares the leading parts without wildcards. */
function leadsInto(parts: readonly string[], folder: readonly string[]): boolean {
  if (!parts.includes('**') && parts.length <= folder.length) return false;
  const magic = parts.findIndex((part) => /[*?[\]+@]/.test(part));
  const plain = magic < 0 ? parts : parts.slice(0, magic);
  return folder.every((name, index) => index >= plain.length || name === plain[index]);
}
