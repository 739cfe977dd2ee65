import picomatch from 'picomatch';

/** The first glob that matches a path inside the root, without regard to case; undefined if none does. */
export function matchingGlob(globs: readonly string[], relative: string): string | undefined {
  return globs.find((glob) => picomatch.isMatch(relative, glob, { dot: true, nocase: true }));
}
