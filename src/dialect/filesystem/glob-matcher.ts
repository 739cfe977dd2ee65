import { withoutBraces } from './glob-braces.ts';
import { segmentMatcher } from './glob-segment.ts';

export type Match = (path: string) => boolean;

const MAX_CHARS = 65_536;
const MAX_PATTERNS = 10_000;
const MAX_NESTING = 10;

/** Why a glob is not used, or undefined. */
export function globProblem(glob: string): string | undefined {
  if (glob.length > MAX_CHARS) return `a pattern must not be longer than ${MAX_CHARS} characters`;
  if (nesting(glob) > MAX_NESTING)
    return `groups must not be nested more than ${MAX_NESTING} deep in a pattern`;
  return withoutBraces(glob, MAX_PATTERNS) === undefined
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
 * Matches paths as the official server's library does: dots are like any character, `!` in front turns a pattern round,
 * one that is empty or begins with `#` matches nothing, `**` reaches deeper only where it is all between two slashes, and
 * `x/**` is about what is in `x`, not about `x`. Whatever the pattern, matching takes no more than polynomial time.
 */
export function globMatcher(glob: string): Match {
  const marks = /^!*/.exec(glob)?.[0].length ?? 0;
  const pattern = glob.slice(marks);
  const none = pattern === '' || glob.startsWith('#');
  const matchers = none ? [] : (withoutBraces(pattern, MAX_PATTERNS) ?? []).map(pathMatcher);
  const negated = marks % 2 === 1;
  return (path) => matchers.some((matches) => matches(path)) !== negated;
}

type Part = ((name: string) => boolean) | 'any depth';

function pathMatcher(pattern: string): Match {
  const parts = pattern
    .split(/\/+/)
    .map((part): Part => (part === '**' ? 'any depth' : segmentMatcher(part)))
    .filter((part, index, all) => part !== 'any depth' || all[index - 1] !== 'any depth');
  const [first, last, more] = parts;
  // The commonest of all is only about the last name.
  if (first === 'any depth' && last !== 'any depth' && last !== undefined && more === undefined)
    return (path) => last(path.slice(path.lastIndexOf('/') + 1));
  const deep = parts.includes('any depth');
  return (path) => {
    const names = path.split('/');
    return (deep || parts.length === names.length) && reaches(parts, names);
  };
}

/** Every place the parts can have reached is followed at once. */
function reaches(parts: readonly Part[], names: readonly string[]): boolean {
  let places: readonly number[] = [0];
  for (const [index, part] of parts.entries()) {
    const [first] = places;
    if (first === undefined) return false;
    if (part === 'any depth') {
      // At the end it stands for at least one name.
      const start = index === parts.length - 1 ? first + 1 : first;
      places = Array.from({ length: Math.max(names.length - start + 1, 0) }, (_, more) => start + more);
    } else places = places.filter((at) => at < names.length && part(names[at] ?? '')).map((at) => at + 1);
  }
  return places.includes(names.length);
}
