import { type GlobGroup, type GlobNode, parseGlob } from './glob-parse.ts';

/**
 * Matches one name of a path. All the places a pattern can have reached are followed at once, and nothing is asked
 * twice, so that no pattern makes it slow.
 */
export function segmentMatcher(pattern: string): (name: string) => boolean {
  const nodes = parseGlob([...pattern]);
  const quick = quickly(nodes);
  if (quick !== undefined) return quick;
  return (name) => {
    const shape: Name = { chars: [...name], taken: new Map() };
    return ends(nodes, shape, new Set([0])).has(shape.chars.length);
  };
}

/** Few wildcards cannot make an expression slow, and most patterns have no more. */
const MAX_QUICK_STARS = 2;

function quickly(nodes: readonly GlobNode[]): ((name: string) => boolean) | undefined {
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
  readonly taken: Map<GlobNode, Map<number, ReadonlySet<number>>>;
}

/** Where a match can end that began at one of the starts. */
function ends(nodes: readonly GlobNode[], name: Name, starts: ReadonlySet<number>): ReadonlySet<number> {
  let reached = starts;
  for (const node of nodes) {
    if (reached.size === 0) return reached;
    reached = node.kind === 'group' ? afterGroup(node, name, reached) : afterOne(node, name.chars, reached);
  }
  return reached;
}

function afterOne(
  node: Exclude<GlobNode, GlobGroup>,
  chars: readonly string[],
  starts: ReadonlySet<number>,
): ReadonlySet<number> {
  if (node.kind === 'star') return placesFrom(Math.min(...starts), chars.length);
  const after = new Set<number>();
  for (const at of starts) {
    const char = chars[at];
    if (char === undefined) continue;
    if (node.kind === 'one' || (node.kind === 'class' ? node.has(char) : node.char === char))
      after.add(at + 1);
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

/** One or more times; `*` is none as well. */
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
