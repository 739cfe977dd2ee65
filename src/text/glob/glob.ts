import { expandBraces } from './braces.ts';
import { nameMatcher } from './segment.ts';

/** Whether a path, with `/` between its names, is one that a glob means. */
export type PathMatch = (path: string) => boolean;

/** One part of a glob between slashes: a pattern for one name, or `**`. */
export interface GlobPart {
  readonly text: string;
  readonly matches: ((name: string) => boolean) | 'any depth';
}

const MAX_CHARS = 65_536;
const MAX_PATTERNS = 10_000;
const MAX_NESTING = 10;

/** The reason this glob is too large to use, or undefined. */
export function globProblem(glob: string): string | undefined {
  if (glob.length > MAX_CHARS) return `a pattern must not be longer than ${MAX_CHARS} characters`;
  if (nesting(glob) > MAX_NESTING)
    return `groups must not be nested more than ${MAX_NESTING} deep in a pattern`;
  return expandBraces(glob, MAX_PATTERNS) === undefined
    ? `the braces of a pattern must not stand for more than ${MAX_PATTERNS} patterns`
    : undefined;
}

function nesting(glob: string): number {
  let depth = 0;
  let most = 0;
  for (const char of glob) {
    if (char === '(') depth += 1;
    if (char === ')') depth = Math.max(depth - 1, 0);
    most = Math.max(most, depth);
  }
  return most;
}

/**
 * Matches paths as the official server's library does. A dot is like any character. `!` in front negates a pattern. An
 * empty pattern and one that begins with `#` match nothing. `**` matches any number of folders only where it is all that
 * stands between two slashes, and `x/**` means what is in `x`, not `x`. No pattern takes more than polynomial time.
 */
export function globMatcher(glob: string): PathMatch {
  if (glob.startsWith('#')) return () => false;
  const marks = /^!*/.exec(glob)?.[0].length ?? 0;
  return negatable(glob, marks, (pattern) => matchParts(readParts(pattern, 'exact case'), 'below'));
}

/**
 * Matches paths by a glob of the policy: like `globMatcher`, but letters match in either case, `x/**` means `x` too, and
 * `**.pem` means such files in every folder. A protected folder is protected itself, and on many file systems `.ENV` is the same file as `.env`.
 */
export function policyGlobMatcher(glob: string): PathMatch {
  // `!(a)` is a group here, not a negated pattern.
  const marks = /^!*(?!\()/.exec(glob)?.[0].length ?? 0;
  return negatable(glob, marks, (pattern) => {
    const deep = pattern.replaceAll(/(?<=^|\/)\*\*(?=\.)/g, '**/*');
    return matchParts(readParts(deep, 'any case'), 'folder and below');
  });
}

/** The first glob of the policy that means a path; undefined if none does. */
export function matchingGlob(globs: readonly string[], path: string): string | undefined {
  return globs.find((glob) => policyGlobMatcher(glob)(path));
}

function negatable(glob: string, marks: number, matcherOf: (pattern: string) => PathMatch): PathMatch {
  const pattern = glob.slice(marks);
  const matchers = pattern === '' ? [] : (expandBraces(pattern, MAX_PATTERNS) ?? []).map(matcherOf);
  const negated = marks % 2 === 1;
  return (path) => matchers.some((matches) => matches(path)) !== negated;
}

/** Reads a pattern without braces. Slashes in a row, and `**` in a row, count once. */
export function readParts(pattern: string, letters: 'exact case' | 'any case'): readonly GlobPart[] {
  return pattern
    .split(/\/+/)
    .map((text) => ({ text, matches: text === '**' ? ('any depth' as const) : nameMatcher(text, letters) }))
    .filter(({ matches }, index, all) => matches !== 'any depth' || all[index - 1]?.matches !== 'any depth');
}

/** `trailing`: what `x/**` means: what is in `x`, or `x` as well. */
export function matchParts(parts: readonly GlobPart[], trailing: 'below' | 'folder and below'): PathMatch {
  const [first, last, more] = parts;
  // The most frequent kind, `**/name`, is only about the last name.
  if (first?.matches === 'any depth' && typeof last?.matches === 'function' && more === undefined) {
    const { matches } = last;
    return (path) => matches(path.slice(path.lastIndexOf('/') + 1));
  }
  const deep = parts.some(({ matches }) => matches === 'any depth');
  // `*/**` means what is in every folder: with the folders it would mean all files beside them, too.
  const least = trailing === 'below' || parts.at(-2)?.text.endsWith('*') ? 1 : 0;
  return (path) => {
    const names = path.split('/');
    return (deep || parts.length === names.length) && reaches(parts, names, least);
  };
}

/** Follows every position that the parts can have reached at once. `least`: how many names a `**` at the end needs. */
function reaches(parts: readonly GlobPart[], names: readonly string[], least: number): boolean {
  let places: readonly number[] = [0];
  for (const [index, { matches }] of parts.entries()) {
    const [first] = places;
    if (first === undefined) return false;
    if (matches === 'any depth') {
      const start = index === parts.length - 1 ? first + least : first;
      places = Array.from({ length: Math.max(names.length - start + 1, 0) }, (_, more) => start + more);
    } else places = places.filter((at) => at < names.length && matches(names[at] ?? '')).map((at) => at + 1);
  }
  return places.includes(names.length);
}
