import { classAt } from './glob-class.ts';

type Node =
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'star' }
  | { readonly kind: 'class'; readonly has: (char: string) => boolean }
  | Group;

interface Group {
  readonly kind: 'group';
  readonly mark: string;
  readonly choices: readonly (readonly Node[])[];
}

/**
 * Matches one name of a path. All the places a pattern can have reached are followed at once, and nothing is asked
 * twice, so that no pattern makes it slow.
 */
export function segmentMatcher(pattern: string): (name: string) => boolean {
  const nodes = parse([...pattern]);
  const quick = quickly(nodes);
  if (quick !== undefined) return quick;
  return (name) => {
    const shape: Name = { chars: [...name], taken: new Map() };
    return ends(nodes, shape, new Set([0])).has(shape.chars.length);
  };
}

/** Few wildcards cannot make an expression slow, and most patterns have no more. */
const MAX_QUICK_STARS = 2;

function quickly(nodes: readonly Node[]): ((name: string) => boolean) | undefined {
  if (nodes.filter(({ kind }) => kind === 'star').length > MAX_QUICK_STARS) return undefined;
  const sources: string[] = [];
  for (const node of nodes) {
    if (node.kind === 'class' || node.kind === 'group') return undefined;
    if (node.kind === 'char') sources.push(node.char.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&'));
    else sources.push(node.kind === 'one' ? '.' : '.*?');
  }
  const expression = new RegExp(`^${sources.join('')}$`, 'su');
  return (name) => expression.test(name);
}

interface Name {
  readonly chars: readonly string[];
  /** Where one turn of a group can end, by where it begins: nested groups would ask over and over. */
  readonly taken: Map<Node, Map<number, ReadonlySet<number>>>;
}

/** Where a match can end that began at one of the starts. */
function ends(nodes: readonly Node[], name: Name, starts: ReadonlySet<number>): ReadonlySet<number> {
  let reached = starts;
  for (const node of nodes) {
    if (reached.size === 0) return reached;
    reached = node.kind === 'group' ? afterGroup(node, name, reached) : afterOne(node, name.chars, reached);
  }
  return reached;
}

function afterOne(
  node: Exclude<Node, Group>,
  chars: readonly string[],
  starts: ReadonlySet<number>,
): ReadonlySet<number> {
  if (node.kind === 'star') return from(Math.min(...starts), chars.length);
  const after = new Set<number>();
  for (const at of starts) {
    const char = chars[at];
    if (char === undefined) continue;
    if (node.kind === 'one' || (node.kind === 'class' ? node.has(char) : node.char === char))
      after.add(at + 1);
  }
  return after;
}

function afterGroup(group: Group, name: Name, starts: ReadonlySet<number>): ReadonlySet<number> {
  switch (group.mark) {
    case '@':
      return turn(group, name, starts);
    case '?':
      return new Set([...starts, ...turn(group, name, starts)]);
    case '!': {
      const after = new Set<number>();
      for (const at of starts) {
        const taken = turnFrom(group, name, at);
        for (const end of from(at, name.chars.length)) if (!taken.has(end)) after.add(end);
      }
      return after;
    }
    default:
      return turns(group, name, starts);
  }
}

/** One or more times; `*` is none as well. */
function turns(group: Group, name: Name, starts: ReadonlySet<number>): ReadonlySet<number> {
  const all = new Set(group.mark === '*' ? starts : []);
  for (let fresh: ReadonlySet<number> = starts; fresh.size > 0; ) {
    const added = new Set([...turn(group, name, fresh)].filter((at) => !all.has(at)));
    for (const at of added) all.add(at);
    fresh = added;
  }
  return all;
}

function turn(group: Group, name: Name, starts: ReadonlySet<number>): ReadonlySet<number> {
  const after = new Set<number>();
  for (const at of starts) for (const end of turnFrom(group, name, at)) after.add(end);
  return after;
}

function turnFrom(group: Group, name: Name, at: number): ReadonlySet<number> {
  const known = name.taken.get(group) ?? new Map<number, ReadonlySet<number>>();
  name.taken.set(group, known);
  const before = known.get(at);
  if (before !== undefined) return before;
  const start = new Set([at]);
  const found = new Set(group.choices.flatMap((choice) => [...ends(choice, name, start)]));
  known.set(at, found);
  return found;
}

function from(start: number, end: number): Set<number> {
  return new Set(Array.from({ length: end - start + 1 }, (_, index) => start + index));
}

function parse(chars: readonly string[]): Node[] {
  const nodes: Node[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const { node, next } = nodeAt(chars, at);
    // Stars in a row are one.
    if (node.kind !== 'star' || nodes.at(-1)?.kind !== 'star') nodes.push(node);
    at = next - 1;
  }
  return nodes;
}

function nodeAt(chars: readonly string[], at: number): { readonly node: Node; readonly next: number } {
  const char = chars[at] ?? '';
  const following = chars[at + 1];
  if (char === '\\' && following !== undefined)
    return { node: { kind: 'char', char: following }, next: at + 2 };
  if (following === '(' && '?*+@!'.includes(char)) {
    const end = closing(chars, at + 1);
    if (end !== undefined) {
      const choices = split(chars.slice(at + 2, end)).map(parse);
      return { node: { kind: 'group', mark: char, choices }, next: end + 1 };
    }
  }
  if (char === '*') return { node: { kind: 'star' }, next: at + 1 };
  if (char === '?') return { node: { kind: 'one' }, next: at + 1 };
  const found = char === '[' ? classAt(chars, at) : undefined;
  if (found !== undefined) return { node: { kind: 'class', has: found.has }, next: found.next };
  return { node: { kind: 'char', char }, next: at + 1 };
}

/** Where the group whose parenthesis is at `open` is closed. */
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
