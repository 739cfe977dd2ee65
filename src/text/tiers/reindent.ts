/**
 * A rule that converts the model's indentation to the file's. Returns undefined for an indentation
 * that the rule does not cover.
 */
export type Reindent = (indent: string) => string | undefined;

/** The indentation of one line as the model wrote it and as in the file. */
interface IndentPair {
  readonly written: string;
  readonly there: string;
}

const MAX_TAB_WIDTH = 8;

/**
 * The single rule that explains every difference of indentation: a shift by the same white space,
 * one tab width, or another number of spaces per level. Undefined if there is no such rule, or no
 * difference.
 */
export function reindentRule(pairs: readonly IndentPair[]): Reindent | undefined {
  if (pairs.every(({ written, there }) => written === there)) return undefined;
  return addedShift(pairs) ?? removedShift(pairs) ?? tabRule(pairs) ?? spaceRule(pairs);
}

/**
 * Puts additional white space (`shift`) before an indentation. Undefined if the result would mix
 * tabs and spaces.
 */
function joined(shift: string, indent: string): string | undefined {
  const mixed = (shift + indent).includes('\t') && (shift + indent).includes(' ');
  return mixed ? undefined : shift + indent;
}

function addedShift(pairs: readonly IndentPair[]): Reindent | undefined {
  const [first] = pairs;
  if (first === undefined || !first.there.endsWith(first.written)) return undefined;
  const shift = first.there.slice(0, first.there.length - first.written.length);
  if (shift === '' || !pairs.every(({ written, there }) => shift + written === there)) return undefined;
  return (indent) => joined(shift, indent);
}

function removedShift(pairs: readonly IndentPair[]): Reindent | undefined {
  const [first] = pairs;
  if (first === undefined || !first.written.startsWith(first.there)) return undefined;
  const shift = first.written.slice(0, first.written.length - first.there.length);
  if (shift === '' || !pairs.every(({ written, there }) => shift + there === written)) return undefined;
  return (indent) => (indent.startsWith(shift) ? indent.slice(shift.length) : undefined);
}

/**
 * The rule that replaces each tab by a fixed number of spaces, or the reverse. A single space after
 * them, as before the star of a block comment, is kept.
 */
function tabRule(pairs: readonly IndentPair[]): Reindent | undefined {
  for (let width = 1; width <= MAX_TAB_WIDTH; width += 1) {
    for (const rule of [toTabs(width), toSpaces(width)])
      if (pairs.every(({ written, there }) => rule(written) === there)) return rule;
  }
  return undefined;
}

function toTabs(width: number): Reindent {
  return (indent) => {
    const rest = indent.length % width;
    if (!/^ *$/.test(indent) || rest > 1) return undefined;
    return '\t'.repeat((indent.length - rest) / width) + ' '.repeat(rest);
  };
}

function toSpaces(width: number): Reindent {
  return (indent) => {
    const [, tabs = '', rest = ''] = /^(\t*)( ?)$/.exec(indent) ?? [];
    return tabs + rest === indent ? ' '.repeat(tabs.length * width) + rest : undefined;
  };
}

function isMultiple(indent: string, width: number): boolean {
  return /^ *$/.test(indent) && indent.length % width === 0;
}

/**
 * The rule for a different number of spaces per level, for example two instead of four. The edit
 * must contain at least two levels, because one level fits many rules.
 */
function spaceRule(pairs: readonly IndentPair[]): Reindent | undefined {
  if (!pairs.every(({ written, there }) => /^ *$/.test(written + there))) return undefined;
  const levels = new Map(pairs.map(({ written, there }) => [written.length, there.length]));
  const unit = Math.min(...[...levels.keys()].filter((length) => length > 0));
  const target = levels.get(unit);
  if (target === undefined || target === 0 || levels.size < 2) return undefined;
  const convert = (length: number): number => (length / unit) * target;
  if (!pairs.every(({ written, there }) => convert(written.length) === there.length)) return undefined;
  return (indent) => (isMultiple(indent, unit) ? ' '.repeat(convert(indent.length)) : undefined);
}
