import picomatch from 'picomatch';
import { CASELESS_GLOB_READING } from '../model/glob-reading.ts';

/** The first glob that matches a path inside the root, without regard to case; undefined if none does. */
export function matchingGlob(globs: readonly string[], relative: string): string | undefined {
  return globs.find((glob) => picomatch.isMatch(relative, glob, CASELESS_GLOB_READING));
}
