const NAMED: Readonly<Record<string, RegExp>> = {
  alnum: /[\p{L}\p{Nl}\p{Nd}]/u,
  alpha: /[\p{L}\p{Nl}]/u,
  ascii: /[\0-\x7f]/,
  blank: /[\p{Zs}\t]/u,
  cntrl: /\p{Cc}/u,
  digit: /\p{Nd}/u,
  graph: /[^\p{Z}\p{C}]/u,
  lower: /\p{Ll}/u,
  print: /\P{C}/u,
  punct: /\p{P}/u,
  space: /[\p{Z}\t\r\n\v\f]/u,
  upper: /\p{Lu}/u,
  word: /[\p{L}\p{Nl}\p{Nd}\p{Pc}]/u,
  xdigit: /[A-Fa-f0-9]/,
};

/** A pattern element that matches exactly one character. */
type CharNode =
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'class'; readonly has: (char: string) => boolean; readonly negated: boolean };

type GlobNode = CharNode | { readonly kind: 'star' } | GlobGroup;

/** A group of alternatives: `?(…)`, `*(…)`, `+(…)`, `@(…)` or `!(…)`. */
interface GlobGroup {
  readonly kind: 'group';
  readonly mark: string;
  readonly choices: readonly (readonly GlobNode[])[];
}

/** A pattern with at most this many stars becomes a regular expression. With more stars, that could be slow. */
const MAX_QUICK_STARS = 2;
/**
 * A pattern with at most this many elements becomes a regular expression. A much longer expression
 * would overflow the stack when it is compiled.
 */
const MAX_QUICK_NODES = 1000;

/**
 * Returns a function that matches one name of a path against a pattern without `/` and braces. A
 * simple pattern becomes a regular expression. For any other pattern, the function tracks all
 * reachable positions in parallel, so that no pattern is slow.
 */
export function nameMatcher(pattern: string, letters: 'exact case' | 'any case'): (name: string) => boolean {
  const nodes = parseGlob([...pattern]);
  const quick = quickMatcher(nodes, letters);
  if (quick !== undefined) return quick;
  const takes = letters === 'exact case' ? takesChar : takesLetter;
  return (name) => {
    const shape: Name = { chars: [...name], takes, taken: new Map() };
    return ends(nodes, shape, new Set([0])).has(shape.chars.length);
  };
}

function quickMatcher(
  nodes: readonly GlobNode[],
  letters: 'exact case' | 'any case',
): ((name: string) => boolean) | undefined {
  const stars = nodes.filter(({ kind }) => kind === 'star').length;
  if (stars > MAX_QUICK_STARS || nodes.length > MAX_QUICK_NODES) return undefined;
  const sources: string[] = [];
  for (const node of nodes) {
    if (node.kind === 'class' || node.kind === 'group') return undefined;
    if (node.kind === 'char') sources.push(node.char.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&'));
    else sources.push(node.kind === 'one' ? '.' : '.*?');
  }
  const expression = new RegExp(`^${sources.join('')}$`, letters === 'exact case' ? 'su' : 'siu');
  return (name) => expression.test(name);
}

/** True if a pattern element matches a character of the name. */
type TakesChar = (node: CharNode, char: string) => boolean;

const takesChar: TakesChar = (node, char) => {
  if (node.kind === 'class') return node.has(char) !== node.negated;
  return node.kind === 'one' || node.char === char;
};

const takesLetter: TakesChar = (node, char) => {
  const [lower, upper] = [char.toLowerCase(), char.toUpperCase()];
  if (node.kind === 'class') return (node.has(char) || node.has(lower) || node.has(upper)) !== node.negated;
  return node.kind === 'one' || node.char.toLowerCase() === lower;
};

interface Name {
  readonly chars: readonly string[];
  readonly takes: TakesChar;
  /**
   * Cache: for each group and each start position, the possible ends of one repetition of the
   * group. Without the cache, nested groups would repeat the same work.
   */
  readonly taken: Map<GlobNode, Map<number, ReadonlySet<number>>>;
}

/** All positions where a match that began at one of `starts` can end. */
function ends(nodes: readonly GlobNode[], name: Name, starts: ReadonlySet<number>): ReadonlySet<number> {
  let reached = starts;
  for (const node of nodes) {
    if (reached.size === 0) return reached;
    reached = node.kind === 'group' ? afterGroup(node, name, reached) : afterOne(node, name, reached);
  }
  return reached;
}

function afterOne(
  node: Exclude<GlobNode, GlobGroup>,
  name: Name,
  starts: ReadonlySet<number>,
): ReadonlySet<number> {
  if (node.kind === 'star') return placesFrom(Math.min(...starts), name.chars.length);
  const after = new Set<number>();
  for (const at of starts) {
    const char = name.chars[at];
    if (char !== undefined && name.takes(node, char)) after.add(at + 1);
  }
  return after;
}

function afterGroup(group: GlobGroup, name: Name, starts: ReadonlySet<number>): ReadonlySet<number> {
  switch (group.mark) {
    case '@':
      return turn(group, name, starts);
    case '?':
      return new Set([...starts, ...turn(group, name, starts)]);
    case '!': {
      const after = new Set<number>();
      for (const at of starts) {
        const taken = turnFrom(group, name, at);
        for (const end of placesFrom(at, name.chars.length)) if (!taken.has(end)) after.add(end);
      }
      return after;
    }
    default:
      return turns(group, name, starts);
  }
}

/** Matches a group one or more times; `*` also matches zero times. */
function turns(group: GlobGroup, name: Name, starts: ReadonlySet<number>): ReadonlySet<number> {
  const all = new Set(group.mark === '*' ? starts : []);
  for (let fresh: ReadonlySet<number> = starts; fresh.size > 0; ) {
    const added = new Set([...turn(group, name, fresh)].filter((at) => !all.has(at)));
    for (const at of added) all.add(at);
    fresh = added;
  }
  return all;
}

function turn(group: GlobGroup, name: Name, starts: ReadonlySet<number>): ReadonlySet<number> {
  const after = new Set<number>();
  for (const at of starts) for (const end of turnFrom(group, name, at)) after.add(end);
  return after;
}

function turnFrom(group: GlobGroup, name: Name, at: number): ReadonlySet<number> {
  const known = name.taken.get(group) ?? new Map<number, ReadonlySet<number>>();
  name.taken.set(group, known);
  const before = known.get(at);
  if (before !== undefined) return before;
  const start = new Set([at]);
  const found = new Set(group.choices.flatMap((choice) => [...ends(choice, name, start)]));
  known.set(at, found);
  return found;
}

function placesFrom(start: number, end: number): Set<number> {
  return new Set(Array.from({ length: end - start + 1 }, (_, index) => start + index));
}

/** Parses the elements of a pattern. An opening bracket that is never closed is an ordinary character. */
function parseGlob(chars: readonly string[]): GlobNode[] {
  const nodes: GlobNode[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const { node, next } = nodeAt(chars, at);
    // Consecutive stars count as one.
    if (node.kind !== 'star' || nodes.at(-1)?.kind !== 'star') nodes.push(node);
    at = next - 1;
  }
  return nodes;
}

function nodeAt(chars: readonly string[], at: number): { readonly node: GlobNode; readonly next: number } {
  const char = chars[at] ?? '';
  const following = chars[at + 1];
  if (char === '\\' && following !== undefined)
    return { node: { kind: 'char', char: following }, next: at + 2 };
  if (following === '(' && '?*+@!'.includes(char)) {
    const end = closing(chars, at + 1);
    if (end !== undefined) {
      const choices = split(chars.slice(at + 2, end)).map(parseGlob);
      return { node: { kind: 'group', mark: char, choices }, next: end + 1 };
    }
  }
  if (char === '*') return { node: { kind: 'star' }, next: at + 1 };
  if (char === '?') return { node: { kind: 'one' }, next: at + 1 };
  const found = char === '[' ? classAt(chars, at) : undefined;
  if (found !== undefined)
    return { node: { kind: 'class', has: found.has, negated: found.negated }, next: found.next };
  return { node: { kind: 'char', char }, next: at + 1 };
}

/** The position of the parenthesis that closes the group opened at `open`. */
function closing(chars: readonly string[], open: number): number | undefined {
  for (let at = open + 1, depth = 1; at < chars.length; at += 1) {
    if (chars[at] === '\\') at += 1;
    else if (chars[at] === '[') at = (classAt(chars, at)?.next ?? at + 1) - 1;
    else if (chars[at] === '(') depth += 1;
    else if (chars[at] === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return undefined;
}

function split(chars: readonly string[]): string[][] {
  const parts: string[][] = [[]];
  for (let at = 0, depth = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? '';
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    const taken = char === '\\' ? chars.slice(at, at + 2) : [char];
    if (char === '|' && depth === 0) parts.push([]);
    else parts.at(-1)?.push(...taken);
    at += taken.length - 1;
  }
  return parts;
}

interface CharClass {
  readonly has: (char: string) => boolean;
  readonly negated: boolean;
  /** Position after the closing bracket. */
  readonly next: number;
}

/** Parses the class `[…]` at a position: characters, ranges, named classes. Undefined if it is not closed. */
function classAt(chars: readonly string[], open: number): CharClass | undefined {
  const negated = chars[open + 1] === '!' || chars[open + 1] === '^';
  const first = open + (negated ? 2 : 1);
  const tests: ((char: string) => boolean)[] = [];
  for (let at = first; at < chars.length; ) {
    if (chars[at] === ']' && at > first) {
      const has = (char: string): boolean => tests.some((test) => test(char));
      return { has, negated, next: at + 1 };
    }
    const { test, next } = memberAt(chars, at);
    tests.push(test);
    at = next;
  }
  return undefined;
}

function memberAt(chars: readonly string[], at: number): { test: (char: string) => boolean; next: number } {
  const named = chars[at] === '[' && chars[at + 1] === ':' ? nameAt(chars, at + 2) : undefined;
  const known = named === undefined ? undefined : NAMED[named];
  if (known !== undefined && named !== undefined)
    return { test: (char) => known.test(char), next: at + named.length + 4 };
  const low = charAt(chars, at);
  if (chars[low.next] !== '-' || (chars[low.next + 1] ?? ']') === ']')
    return { test: (char) => char === low.char, next: low.next };
  const high = charAt(chars, low.next + 1);
  const [least, most] = [low.char.codePointAt(0) ?? 0, high.char.codePointAt(0) ?? 0];
  return {
    test: (char) => {
      const code = char.codePointAt(0) ?? 0;
      return code >= least && code <= most;
    },
    next: high.next,
  };
}

function charAt(chars: readonly string[], at: number): { readonly char: string; readonly next: number } {
  const following = chars[at + 1];
  if (chars[at] === '\\' && following !== undefined) return { char: following, next: at + 2 };
  return { char: chars[at] ?? '', next: at + 1 };
}

/** The name in `[:name:]`, starting at its first letter. */
function nameAt(chars: readonly string[], at: number): string | undefined {
  const end = chars.indexOf(':', at);
  return end > at && chars[end + 1] === ']' ? chars.slice(at, end).join('') : undefined;
}
