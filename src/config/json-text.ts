import { createRequire } from 'node:module';
import type { Node, ParseError } from 'jsonc-parser';
import { Fault } from '../model/fault.ts';

/**
 * The value of a settings file: JSON that may have comments and trailing commas. Throws a Fault that
 * names the line and column of the first mistake.
 */
export function parseSettings(text: string, name: string): unknown {
  const plain = text.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(plain);
  } catch {
    const { tree, mistake } = parseJsonTree(plain);
    if (tree !== undefined) return jsonc().parse(plain, [], { allowTrailingComma: true });
    const { offset, what } = mistake ?? { offset: plain.length, what: 'a value is missing here' };
    throw new Fault('CONFIG_INVALID', `${name}:${lineAndColumn(plain, offset)}: ${what}`, { path: name });
  }
}

/** The tree of a JSON text that may have comments and trailing commas, or its first mistake. Blank text has neither. */
export function parseJsonTree(text: string): {
  readonly tree?: Node | undefined;
  readonly mistake?: { readonly offset: number; readonly what: string };
} {
  const { parseTree, printParseErrorCode } = jsonc();
  const mistakes: ParseError[] = [];
  // A blank in place of the byte order mark keeps all offsets.
  const plain = text.replace(/^\uFEFF/, ' ');
  let tree: Node | undefined;
  try {
    tree = parseTree(plain, mistakes, { allowTrailingComma: true, allowEmptyContent: true });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { mistake: { offset: 0, what: 'it is nested too deeply' } };
  }
  const [first] = mistakes;
  if (first === undefined) return { tree };
  const what = MISTAKES[printParseErrorCode(first.error)] ?? 'this is not JSON';
  return { mistake: { offset: first.offset, what } };
}

/**
 * The position of a settings key, as `LINE:COLUMN`. `key` is a path such as `proxy.servers[0]`. For
 * a key that is not there, the place of the nearest object or array around it.
 */
export function settingPlace(text: string, key: string): string {
  const plain = text.replace(/^\uFEFF/, '');
  const { tree } = parseJsonTree(plain);
  if (tree === undefined) return '1:1';
  const steps = [...key.matchAll(/[^.[\]]+/g)].map(([step]) => (/^\d+$/.test(step) ? Number(step) : step));
  for (let depth = steps.length; depth > 0; depth--) {
    const node = jsonc().findNodeAtLocation(tree, steps.slice(0, depth));
    // A value's parent is its property, which begins with the key.
    if (node !== undefined) return lineAndColumn(plain, (node.parent ?? node).offset);
  }
  return lineAndColumn(plain, tree.offset);
}

/** The parser's error codes in words for users. Others read "this is not JSON". */
const MISTAKES: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this word needs double quotes',
  InvalidNumberFormat: 'this is not a number',
  PropertyNameExpected: 'a key in double quotes is missing here',
  ValueExpected: 'a value is missing here',
  ColonExpected: 'a colon is missing here',
  CommaExpected: 'a comma is missing here',
  CloseBraceExpected: 'a closing } is missing',
  CloseBracketExpected: 'a closing ] is missing',
  EndOfFileExpected: 'there is more text after the end of the settings',
  UnexpectedEndOfString: 'the closing quote of this text is missing',
  UnexpectedEndOfComment: 'the end of this comment is missing',
};

function lineAndColumn(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}

/** Loads the parser only for a file with comments or a mistake: loading takes longer than most starts may. */
export function jsonc(): typeof import('jsonc-parser') {
  return createRequire(import.meta.url)('jsonc-parser') as typeof import('jsonc-parser');
}
