import { classAt } from './glob-class.ts';

/** A piece of a pattern. */
export type GlobNode =
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'star' }
  | { readonly kind: 'class'; readonly has: (char: string) => boolean }
  | GlobGroup;

/** `?(…)`, `*(…)`, `+(…)`, `@(…)` or `!(…)`. */
export interface GlobGroup {
  readonly kind: 'group';
  readonly mark: string;
  readonly choices: readonly (readonly GlobNode[])[];
}

/** The pieces of a pattern for one name; what is not closed stands for itself. */
export function parseGlob(chars: readonly string[]): GlobNode[] {
  const nodes: GlobNode[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const { node, next } = nodeAt(chars, at);
    // Stars in a row are one.
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
