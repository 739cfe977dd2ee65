import picomatch from 'picomatch';

/** Tells which glob, if any, keeps a path from every session. Compared without regard to case, dot files included. */
export class Protection {
  readonly globs: readonly string[];
  readonly #folders: readonly string[];
  readonly #matchers: readonly { readonly glob: string; readonly matches: (path: string) => boolean }[];

  /** `folders`: keys of folders that are off limits with everything below them, such as our own state. */
  constructor(globs: readonly string[], folders: readonly string[]) {
    this.globs = globs;
    this.#folders = folders;
    this.#matchers = globs.map((glob) => ({ glob, matches: picomatch(glob, { dot: true, nocase: true }) }));
  }

  /** The glob or folder that protects this file, or undefined. A folder that matches protects what is in it. */
  protects(relative: string, key: string): string | undefined {
    const folder = this.#folders.find((path) => key === path || key.startsWith(`${path}/`));
    if (folder !== undefined) return folder;
    for (const { glob, matches } of this.#matchers) {
      for (let end = relative.length; end > 0; end = relative.lastIndexOf('/', end - 1)) {
        if (matches(relative.slice(0, end))) return glob;
      }
    }
    return undefined;
  }
}
