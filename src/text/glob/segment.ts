import { Fault } from '../../model/fault.ts';

const NAMED: Readonly<Record<string, string>> = {
  alnum: '\\p{L}\\p{Nl}\\p{Nd}',
  alpha: '\\p{L}\\p{Nl}',
  ascii: '\\0-\\x7f',
  blank: '\\p{Zs}\\t',
  cntrl: '\\p{Cc}',
  digit: '\\p{Nd}',
  graph: '\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}',
  lower: '\\p{Ll}',
  print: '\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Z}',
  punct: '\\p{P}',
  space: '\\p{Z}\\t\\r\\n\\v\\f',
  upper: '\\p{Lu}',
  word: '\\p{L}\\p{Nl}\\p{Nd}\\p{Pc}',
  xdigit: 'A-Fa-f0-9',
};

/** Matches one element of a pattern. A bracket that is never closed is an ordinary character. */
const ELEMENT =
  /\\(?<escaped>[\s\S])|\[(?:(?<not>[!^])|(?![!^]))(?<members>(?:\]|\[:\w+:\]|\\[\s\S]|[^\]\\])(?:\[:\w+:\]|\\[\s\S]|[^\]\\])*)\]|(?<mark>[?*+@!])\(|\*+(?!\()|[\s\S]/gu;
/** Matches one member of a character class: a named class, a range or a character. */
const MEMBER = /\[:(?<named>\w+):\]|(?<low>\\[\s\S]|[\s\S])(?:-(?<high>\\[\s\S]|[\s\S]))?/gu;

type Element = RegExpExecArray;

/** The source of a regular expression for one character or group, or a star. */
type Atom = string | typeof STAR;
const STAR: unique symbol = Symbol('star');

const GROUP = /(?<!\\)[?*+@!]\(/;
/** The longest names have 255 characters, and at most one star is between two of them. */
const MAX_ATOMS = 600;
/** Together with groups, stars and groups are tried in all combinations, so only a few are allowed. */
const MAX_WITH_GROUPS = 3;

/**
 * The reason why a pattern for one name could take too long, or undefined. In a group that repeats,
 * no alternative may begin another one, so that there is only one way to repeat it.
 */
export function nameProblem(pattern: string): string | undefined {
  const groups = pattern.split(GROUP).length - 1;
  const stars = pattern.match(/\*+(?!\()/g)?.length ?? 0;
  if (groups > 0 && groups + stars > MAX_WITH_GROUPS)
    return `a name with groups must not have more than ${MAX_WITH_GROUPS} groups and stars`;
  for (const [, inside = ''] of pattern.matchAll(/[*+]\(([^)]*)/g)) {
    const words = inside.split('|');
    const isPlain = words.every((word) => /^[^?*+@!()[\]\\]+$/.test(word));
    const isClear = words.every((word, at) =>
      words.every((other, by) => at === by || !other.startsWith(word)),
    );
    if (!isPlain || !isClear)
      return `a group that repeats must have plain, distinct words: ${inside.slice(0, 80)}`;
  }
  return undefined;
}

/**
 * Returns a function that matches one name of a path against a pattern without `/` and braces, in
 * time proportional to the name and the pattern if `nameProblem` finds none. Throws
 * CONFIG_INVALID otherwise.
 */
export function nameMatcher(pattern: string, letters: 'exact case' | 'any case'): (name: string) => boolean {
  const problem = nameProblem(pattern);
  if (problem !== undefined) throw new Fault('CONFIG_INVALID', problem);
  const atoms = atomsOf([...pattern.matchAll(ELEMENT)]);
  // No name is that long, and the engine refuses very long expressions.
  if (atoms.length > MAX_ATOMS) return () => false;
  const source = GROUP.test(pattern) ? trying(atoms) : committed(atoms);
  const expression = new RegExp(`^${source}$`, letters === 'exact case' ? 'su' : 'siu');
  return (name) => expression.test(name);
}

/** Joins atoms so that a star tries every length. */
function trying(atoms: readonly Atom[]): string {
  return atoms.map((atom) => (atom === STAR ? '.*?' : atom)).join('');
}

/**
 * Joins atoms that match one character each, so that each star commits to the first place where the
 * characters after it match. A later place can never help, and so no pattern is slow.
 */
function committed(atoms: readonly Atom[]): string {
  const pieces = [''];
  for (const atom of atoms) {
    if (atom === STAR) pieces.push('');
    else pieces.push(pieces.pop() + atom);
  }
  const [first = '', ...others] = pieces;
  const last = others.pop();
  const between = others.map((piece, at) => `(?=(?<p${at}>.*?${piece}))\\k<p${at}>`);
  return last === undefined ? first : `${first}${between.join('')}.*${last}`;
}

function atomsOf(elements: readonly Element[]): Atom[] {
  const atoms: Atom[] = [];
  for (let at = 0; at < elements.length; at += 1) {
    const element = elements[at];
    const mark = element?.groups?.['mark'];
    const end = mark === undefined ? -1 : closing(elements, at);
    if (element === undefined || mark === undefined || end === -1) atoms.push(...plainAtoms(element));
    else {
      const group = `(?:${alternatives(elements.slice(at + 1, end)).join('|')})`;
      if (mark === '!') atoms.push(`(?!${group}${trying(atomsOf(elements.slice(end + 1)))}$)`, STAR);
      else atoms.push(mark === '@' ? group : group + mark);
      at = end;
    }
  }
  return atoms;
}

function plainAtoms(element: Element | undefined): Atom[] {
  const { escaped, members, not = '' } = element?.groups ?? {};
  if (escaped !== undefined) return [literal(escaped)];
  if (members !== undefined) return [classOf(members, not)];
  const chars = [...(element?.[0] ?? '').replace(/\*+/, '*')];
  return chars.map((char) => (char === '*' ? STAR : char === '?' ? '.' : literal(char)));
}

/** The index of the parenthesis that closes the group that begins at `open`; -1 if there is none. */
function closing(elements: readonly Element[], open: number): number {
  let depth = 0;
  for (let at = open; at < elements.length; at += 1) {
    const text = elements[at]?.[0];
    if (text?.endsWith('(') === true && !text.startsWith('\\')) depth += 1;
    if (text === ')') depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

/** The sources of the alternatives in a group, which `|` separates. */
function alternatives(elements: readonly Element[]): string[] {
  let depth = 0;
  const parts: Element[][] = [[]];
  for (const element of elements) {
    if (element[0].endsWith('(')) depth += 1;
    if (element[0] === ')') depth -= 1;
    if (element[0] === '|' && depth === 0) parts.push([]);
    else parts.at(-1)?.push(element);
  }
  return parts.map((part) => trying(atomsOf(part)));
}

function literal(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
}

function member(char: string): string {
  return char.replace(/[\\^\]-]/, '\\$&');
}

/** A character class. A range backwards contains nothing. */
function classOf(members: string, not: string): string {
  const sources = [...members.matchAll(MEMBER)].map(({ 0: text, groups }) => {
    const { named, low = '', high = low } = groups ?? {};
    if (named !== undefined) return NAMED[named] ?? [...text].map(member).join('');
    const [from = '', to = ''] = [low, high].map((char) => char.replace(/^\\(?=.)/s, ''));
    if ((from.codePointAt(0) ?? 0) > (to.codePointAt(0) ?? 0)) return '';
    return `${member(from)}-${member(to)}`;
  });
  const inside = sources.join('');
  if (inside === '') return not === '' ? '(?!)' : '.';
  return `[${not === '' ? '' : '^'}${inside}]`;
}
