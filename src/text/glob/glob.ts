import { nameMatcher, nameProblem } from './segment.ts';

/** True if a glob matches a path whose names are separated by `/`. */
export type PathMatch = (path: string) => boolean;

/** One part of a glob between slashes: a pattern for one name, or `**`. */
export interface GlobPart {
  readonly text: string;
  readonly matches: ((name: string) => boolean) | 'any depth';
}

const MAX_CHARS = 4000;
const MAX_PATTERNS = 10_000;

/** The reason why this glob cannot be used, or undefined. */
export function globProblem(glob: string): string | undefined {
  if (glob.length > MAX_CHARS) return `a pattern must not be longer than ${MAX_CHARS} characters`;
  const patterns = expandBraces(glob, MAX_PATTERNS);
  if (patterns === undefined)
    return `the braces of a pattern must not expand to more than ${MAX_PATTERNS} patterns`;
  const names = patterns.flatMap((pattern) => pattern.split('/'));
  return names.map(nameProblem).find((problem) => problem !== undefined);
}

/**
 * Matches paths like the library of the official MCP filesystem server, in at most polynomial time.
 * - A dot is an ordinary character.
 * - A leading `!` negates the pattern.
 * - An empty pattern, and one that begins with `#`, match nothing.
 * - `**` matches any number of folders if it is alone between two slashes.
 * - `x/**` matches the content of `x`, but not `x`.
 */
export function globMatcher(glob: string): PathMatch {
  if (glob.startsWith('#')) return () => false;
  const marks = /^!*/.exec(glob)?.[0].length ?? 0;
  return negatable(glob, marks, (pattern) => matchParts(readParts(pattern, 'exact case'), 'below'));
}

/**
 * Matches paths by a glob of the policy. Differs from `globMatcher` so that protected files cannot
 * be missed:
 * - Upper and lower case are equal, because `.ENV` and `.env` are one file on many file systems.
 * - `x/**` also matches `x`, because a protected folder is itself protected.
 * - `**.pem` matches files named `*.pem` in every folder.
 */
export function policyGlobMatcher(glob: string): PathMatch {
  // `!(a)` is a group, not a negated pattern.
  const marks = /^!*(?!\()/.exec(glob)?.[0].length ?? 0;
  return negatable(glob, marks, (pattern) => {
    const deep = plainGlob(pattern).replaceAll(/(?<=^|\/)\*\*(?=\.)/g, '**/*');
    return matchParts(readParts(deep, 'any case'), 'folder and below');
  });
}

/**
 * A glob of the policy in the form that is matched: without `/` or `./` at the beginning, and with
 * `x/**` for `x/`. Paths of the policy are relative to the root, so otherwise such a glob would
 * match nothing, and protect nothing.
 */
export function plainGlob(glob: string): string {
  return glob.replace(/^(?:\.?\/+)+/, '').replace(/(?<=[^/])\/+$/, '/**');
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

/**
 * Matches a path by the parts of a glob. `trailing` is for a glob such as `x/**`. `below`: it
 * matches only the content of `x`. `folder and below`: it also matches `x`.
 */
export function matchParts(parts: readonly GlobPart[], trailing: 'below' | 'folder and below'): PathMatch {
  const [first, last, more] = parts;
  // The most frequent kind, `**/name`, needs only the last name of the path.
  if (first?.matches === 'any depth' && typeof last?.matches === 'function' && more === undefined) {
    const { matches } = last;
    return (path) => matches(path.slice(path.lastIndexOf('/') + 1));
  }
  const plain = plainName(parts);
  const deep = parts.some(({ matches }) => matches === 'any depth');
  // `*/**` must match only the content of folders. `*` also matches names of files, so without this
  // minimum `*/**` would match the files at the top.
  const least = trailing === 'below' || parts.at(-2)?.text.endsWith('*') ? 1 : 0;
  return (path) => {
    if (plain !== undefined && !mayContain(path, plain)) return false;
    const names = path.split('/');
    return (deep || parts.length === names.length) && reaches(parts, names, least);
  };
}

/**
 * The longest part of a glob without wildcards, in lower case; undefined if there is none. Every
 * path that the glob matches contains a name that equals this part, ignoring case.
 */
function plainName(parts: readonly GlobPart[]): string | undefined {
  const plain = parts.filter(({ text }) => /^[\w. -]+$/.test(text)).map(({ text }) => text.toLowerCase());
  return plain.sort((one, other) => other.length - one.length)[0];
}

/**
 * False if `plain` does not occur in the path, ignoring case, so that no name can equal it. True for every path with
 * non-ASCII characters, because lower-casing does not cover all their case forms.
 */
function mayContain(path: string, plain: string): boolean {
  return path.toLowerCase().includes(plain) || /[^\0-\x7f]/.test(path);
}

/**
 * True if the parts of a glob match all names of a path. Tracks all reachable positions in
 * parallel. `least`: the minimum number of names that a trailing `**` must match.
 */
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

/**
 * Expands the braces of a pattern: `{a,b}` and `{1..3}`. Undefined if there are more than `most`
 * results.
 */
export function expandBraces(pattern: string, most: number): readonly string[] | undefined {
  const done: string[] = [];
  const open: { readonly head: string; readonly rest: string }[] = [{ head: '', rest: pattern }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const found = firstBraces(next.rest);
    if (found === undefined) done.push(next.head + next.rest);
    else {
      const { from, to, choices } = found;
      if (done.length + open.length + choices.length > most) return undefined;
      const before = next.head + next.rest.slice(0, from);
      const after = next.rest.slice(to);
      // Expand further: a choice may contain nested braces. `before` contains no more braces.
      for (const choice of choices.toReversed()) open.push({ head: before, rest: choice + after });
    }
  }
  return done;
}

interface Braces {
  readonly from: number;
  readonly to: number;
  readonly choices: readonly string[];
}

/** The first pair of braces that is closed and contains a comma or a range. */
function firstBraces(text: string): Braces | undefined {
  const closings = closingBraces(text);
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    const end = closings.get(at);
    // As in shells, `${` does not begin braces.
    if (text[at] !== '{' || end === undefined || text[at - 1] === '$') continue;
    const inner = text.slice(at + 1, end);
    const choices = rangeOf(inner) ?? splitChoices(inner);
    if (choices.length > 1) return { from: at, to: end + 1, choices };
  }
  return undefined;
}

/** Maps each opening brace to its closing brace. */
function closingBraces(text: string): ReadonlyMap<number, number> {
  const closings = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '{') open.push(at);
    else if (text[at] === '}') {
      const from = open.pop();
      if (from !== undefined) closings.set(from, at);
    }
  }
  return closings;
}

function splitChoices(inner: string): string[] {
  const choices: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < inner.length; at += 1) {
    if (inner[at] === '\\') at += 1;
    else if (inner[at] === '{') depth += 1;
    else if (inner[at] === '}') depth -= 1;
    else if (inner[at] === ',' && depth === 0) {
      choices.push(inner.slice(from, at));
      from = at + 1;
    }
  }
  return [...choices, inner.slice(from)];
}

const NUMBERS = /^(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?$/;
const LETTERS = /^([a-zA-Z])\.\.([a-zA-Z])(?:\.\.(-?\d{1,9}))?$/;
/** Maximum number of values of a range such as `{1..9}`. The rest of a longer range is ignored. */
const MAX_RANGE = 100_000;

function rangeOf(inner: string): string[] | undefined {
  const numbers = NUMBERS.exec(inner);
  const [, first = '', last = '', by] = numbers ?? LETTERS.exec(inner) ?? [];
  if (first === '') return undefined;
  const width = [first, last].some((end) => /^-?0\d/.test(end)) ? Math.max(first.length, last.length) : 0;
  const ends = numbers ? [Number(first), Number(last)] : [first.charCodeAt(0), last.charCodeAt(0)];
  const [start = 0, end = 0] = ends;
  const step = Math.max(Math.abs(Number(by ?? 1)), 1);
  const count = Math.min(Math.floor(Math.abs(end - start) / step) + 1, MAX_RANGE);
  return Array.from({ length: count }, (_, index) => {
    const value = start + Math.sign(end - start) * index * step;
    return numbers ? padded(value, width) : String.fromCharCode(value);
  });
}

function padded(value: number, width: number): string {
  const sign = value < 0 ? '-' : '';
  return sign + String(Math.abs(value)).padStart(width - sign.length, '0');
}
