import { expandBraces } from './braces.ts';
import { nameMatcher } from './segment.ts';

/** Whether a glob matches a path whose names are separated by `/`. */
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
 * Matches paths like the library of the official MCP filesystem server. A dot is an ordinary character. A leading `!`
 * negates a pattern. An empty pattern and one that begins with `#` match nothing. `**` matches any number of folders
 * only if it is the whole part between two slashes. `x/**` matches the content of `x`, not `x`. Every pattern takes at
 * most polynomial time.
 */
export function globMatcher(glob: string): PathMatch {
  if (glob.startsWith('#')) return () => false;
  const marks = /^!*/.exec(glob)?.[0].length ?? 0;
  return negatable(glob, marks, (pattern) => matchParts(readParts(pattern, 'exact case'), 'below'));
}

/**
 * Matches paths by a glob of the policy. Like `globMatcher`, but case-insensitive; `x/**` also matches `x`, and
 * `**.pem` matches such files in every folder. Reason: a protected folder is itself protected, and on many file systems
 * `.ENV` is the same file as `.env`.
 */
export function policyGlobMatcher(glob: string): PathMatch {
  // `!(a)` is a group, not a negated pattern.
  const marks = /^!*(?!\()/.exec(glob)?.[0].length ?? 0;
  return negatable(glob, marks, (pattern) => {
    const deep = pattern.replaceAll(/(?<=^|\/)\*\*(?=\.)/g, '**/*');
    return matchParts(readParts(deep, 'any case'), 'folder and below');
  });
}

/** The first glob of the policy that matches a path; undefined if none does. */
export function matchingGlob(globs: readonly string[], path: string): string | undefined {
  return globs.find((glob) => policyGlobMatcher(glob)(path));
}

function negatable(glob: string, marks: number, matcherOf: (pattern: string) => PathMatch): PathMatch {
  const pattern = glob.slice(marks);
  const matchers = pattern === '' ? [] : (expandBraces(pattern, MAX_PATTERNS) ?? []).map(matcherOf);
  const negated = marks % 2 === 1;
  return (path) => matchers.some((matches) => matches(path)) !== negated;
}

/** Parses a pattern without braces. Consecutive slashes count as one, and so do consecutive `**`. */
export function readParts(pattern: string, letters: 'exact case' | 'any case'): readonly GlobPart[] {
  return pattern
    .split(/\/+/)
    .map((text) => ({ text, matches: text === '**' ? ('any depth' as const) : nameMatcher(text, letters) }))
    .filter(({ matches }, index, all) => matches !== 'any depth' || all[index - 1]?.matches !== 'any depth');
}

/** `trailing`: whether `x/**` matches only the content of `x`, or also `x`. */
export function matchParts(parts: readonly GlobPart[], trailing: 'below' | 'folder and below'): PathMatch {
  const [first, last, more] = parts;
  // The most frequent kind, `**/name`, needs only the last name of the path.
  if (first?.matches === 'any depth' && typeof last?.matches === 'function' && more === undefined) {
    const { matches } = last;
    return (path) => matches(path.slice(path.lastIndexOf('/') + 1));
  }
  const deep = parts.some(({ matches }) => matches === 'any depth');
  // `*/**` matches the content of every folder. If it matched the folders too, it would also match the files next to
  // them.
  const least = trailing === 'below' || parts.at(-2)?.text.endsWith('*') ? 1 : 0;
  return (path) => {
    const names = path.split('/');
    return (deep || parts.length === names.length) && reaches(parts, names, least);
  };
}

/** Tracks all reachable positions in parallel. `least`: the minimum number of names that a trailing `**` must match. */
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
