import picomatch from 'picomatch';

const MAX_ANSWERS = 10_000;

/** Tells which glob, if any, keeps a path from every session. Compared without regard to case, dot files included. */
export class Protection {
  readonly globs: readonly string[];
  readonly #folders: readonly string[];
  readonly #matchers: readonly { readonly glob: string; readonly matches: (path: string) => boolean }[];

  readonly #answers = new Map<string, { readonly glob: string | undefined }>();

  /** `folders`: keys of folders that are off limits with everything below them, such as our own state. */
  constructor(globs: readonly string[], folders: readonly string[]) {
    this.globs = globs;
    this.#folders = folders;
    this.#matchers = globs.map((glob) => ({ glob, matches: picomatch(glob, { dot: true, nocase: true }) }));
  }

  /** The glob or folder that protects this file, or undefined. A folder that matches protects what is in it. */
  protects(relative: string, key: string): string | undefined {
    const folder = this.#folders.find((path) => key === path || key.startsWith(`${path}/`));
    return folder ?? this.#remembered(relative);
  }

  /** The globs never change, so a path asked about again, as most are, has the same answer. */
  #remembered(relative: string): string | undefined {
    const known = this.#answers.get(relative);
    if (known !== undefined) return known.glob;
    if (this.#answers.size >= MAX_ANSWERS) this.#answers.clear();
    const glob = this.#matching(relative);
    this.#answers.set(relative, { glob });
    return glob;
  }

  #matching(relative: string): string | undefined {
    for (const { glob, matches } of this.#matchers) {
      for (let end = relative.length; end > 0; end = relative.lastIndexOf('/', end - 1)) {
        if (matches(relative.slice(0, end))) return glob;
      }
    }
    return undefined;
  }
}
