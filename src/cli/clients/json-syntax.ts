import { isDeepStrictEqual } from 'node:util';
import type { Node } from 'jsonc-parser';
import { jsonc, parseJsonTree } from '../../config/json-text.ts';
import { lineAt } from '../../text/lines.ts';
import {
  ConfigProblem,
  type ConfigSyntax,
  type ConfigTable,
  type ConfigValue,
  eolOf,
  isList,
  isTable,
} from './config-value.ts';

/** A range of a text and its replacement. */
interface Splice {
  readonly from: number;
  readonly to: number;
  readonly put: string;
}

/** JSON with comments and trailing commas. */
export const JSON_SYNTAX: ConfigSyntax = {
  parse(text) {
    const root = rootOf(text);
    // The cast is safe: the root is an object.
    return root === undefined ? {} : (plainValue(root) as ConfigTable);
  },
  write: (table) => `${pretty(table, { eol: '\n', unit: '  ' }, '')}\n`,
  rewrite(text, want) {
    const root = rootOf(text);
    if (root === undefined) {
      const [, bom, comments = ''] = /^(\ufeff?)(.*)$/s.exec(text.trimEnd()) ?? [];
      const style = styleOf(text);
      return `${bom}${comments === '' ? '' : comments + style.eol}${pretty(want, style, '')}${style.eol}`;
    }
    const splices = nextSplices(text, root, want);
    return splices.length === 0 ? text : JSON_SYNTAX.rewrite(spliced(text, splices), want);
  },
  lineOf(text, keys) {
    const root = rootOf(text);
    const node = root === undefined ? undefined : jsonc().findNodeAtLocation(root, [...keys]);
    return node === undefined ? undefined : lineAt(text, (node.parent ?? node).offset);
  },
};

/** The outermost object; undefined for a text without a value. Throws a ConfigProblem. */
function rootOf(text: string): Node | undefined {
  const { tree, mistake } = parseJsonTree(text);
  if (mistake !== undefined)
    throw new ConfigProblem(`it is not valid JSON: ${mistake.what}`, {
      line: lineAt(text, mistake.offset),
    });
  if (tree !== undefined && tree.type !== 'object')
    throw new ConfigProblem('it is not a JSON object', { line: lineAt(text, tree.offset) });
  return tree;
}

/** The plain value of a node. If a key occurs twice, the last one counts, as for parsers. */
function plainValue(node: Node): ConfigValue {
  if (node.type === 'array') return childrenOf(node).map(plainValue);
  if (node.type !== 'object') return node.value;
  return Object.fromEntries(
    childrenOf(node).map((member) => [keyOf(member), plainValue(memberValue(member))]),
  );
}

function childrenOf(node: Node): readonly Node[] {
  return node.children ?? [];
}

function keyOf(member: Node): string {
  return member.children?.[0]?.value ?? '';
}

function memberValue(member: Node): Node {
  return member.children?.[1] ?? member;
}

function spliced(text: string, splices: readonly Splice[]): string {
  return [...splices]
    .sort((a, b) => b.from - a.from)
    .reduce((result, { from, to, put }) => result.slice(0, from) + put + result.slice(to), text);
}

/** The splices of the next difference between a node and the value that it shall have; none if they are equal. */
function nextSplices(text: string, node: Node, want: ConfigValue): readonly Splice[] {
  if (isDeepStrictEqual(plainValue(node), want)) return [];
  if (node.type === 'object' && isTable(want)) return memberSplices(text, node, want);
  if (node.type === 'array' && isList(want)) return itemSplices(text, node, want);
  return [{ from: node.offset, to: endOf(node), put: compact(want) }];
}

function memberSplices(text: string, object: Node, want: ConfigTable): readonly Splice[] {
  const members = childrenOf(object);
  const extra = members.find((member) => !Object.hasOwn(want, keyOf(member)));
  if (extra !== undefined) return removal(text, object, extra);
  for (const [key, value] of Object.entries(want)) {
    const member = members.findLast((each) => keyOf(each) === key);
    if (member === undefined) return [firstMember(text, object, { key, value })];
    const splices = nextSplices(text, memberValue(member), value);
    if (splices.length > 0) return splices;
  }
  return [];
}

/** Compares a list with the list that it shall be, and handles the first item between their equal ends. */
function itemSplices(text: string, list: Node, want: readonly ConfigValue[]): readonly Splice[] {
  const items = childrenOf(list);
  const have = items.map(plainValue);
  const shorter = Math.min(have.length, want.length);
  let start = 0;
  while (start < shorter && isDeepStrictEqual(have[start], want[start])) start += 1;
  let end = 0;
  while (end < shorter - start && isDeepStrictEqual(have.at(-1 - end), want.at(-1 - end))) end += 1;
  const [old] = items.slice(start, items.length - end);
  const fresh = want.slice(start, want.length - end)[0];
  if (old !== undefined && fresh === undefined) return removal(text, list, old);
  if (fresh === undefined) return [];
  if (old !== undefined) return [{ from: old.offset, to: endOf(old), put: compact(fresh) }];
  const previous = items[start - 1];
  if (previous === undefined) return [firstItem(text, list, fresh)];
  return [{ from: endOf(previous), to: endOf(previous), put: `, ${compact(fresh)}` }];
}

/** Adds a member before the first one, so that the text after the last member (comma, comment) stays. */
function firstMember(
  text: string,
  object: Node,
  { key, value }: { readonly key: string; readonly value: ConfigValue },
): Splice {
  const at = afterOpening(text, object);
  const [first] = childrenOf(object);
  const close = endOf(object) - 1;
  const gap = text.slice(at, first?.offset ?? close);
  const label = `${JSON.stringify(key)}: `;
  if (first !== undefined && !gap.includes('\n'))
    return { from: at, to: at, put: `${/^[ \t]*/.exec(gap)?.[0]}${label}${compact(value)},` };
  const style = styleOf(text);
  const outer = indentAt(text, object.offset);
  const indent = first === undefined ? outer + style.unit : indentAt(text, first.offset);
  const written = `${style.eol}${indent}${label}${pretty(value, style, indent)}`;
  if (first !== undefined) return { from: at, to: at, put: `${written},` };
  // Comments in an empty object stay.
  if (gap.trim() !== '') return { from: at, to: at, put: written };
  return { from: at, to: close, put: `${written}${style.eol}${outer}` };
}

/** Adds an item before the first one, in the layout of the list. */
function firstItem(text: string, list: Node, value: ConfigValue): Splice {
  const at = list.offset + 1;
  const [first] = childrenOf(list);
  if (first === undefined) return { from: at, to: at, put: compact(value) };
  const gap = text.slice(at, first.offset);
  const lead = gap.includes('\n') ? eolOf(text) + indentAt(text, first.offset) : gap;
  return { from: at, to: at, put: `${lead}${compact(value)},` };
}

/**
 * Removes a member or an item with its comma: its whole lines if nothing else is on them, otherwise
 * the blanks beside it. Comments on other lines stay.
 */
function removal(text: string, container: Node, node: Node): readonly Splice[] {
  const open = container.offset + 1;
  const close = endOf(container) - 1;
  const comma = commaAfter(text, node);
  const end = comma === undefined ? endOf(node) : comma + 1;
  if ((text.slice(open, node.offset) + text.slice(end, close)).trim() === '')
    return [{ from: open, to: close, put: '' }];
  const blanksFrom = indentFrom(text, node.offset);
  const lineEnd = /[ \t]*(?:\r?\n)?/y;
  lineEnd.lastIndex = end;
  const [after = ''] = lineEnd.exec(text) ?? [];
  const isAlone = text[blanksFrom - 1] === '\n' && after.endsWith('\n');
  const from = isAlone || comma === undefined ? blanksFrom : node.offset;
  const to = end + (isAlone ? after : comma === undefined ? '' : after.replace(/\r?\n/, '')).length;
  const siblings = childrenOf(container);
  const previous = siblings[siblings.indexOf(node) - 1];
  const last = comma === undefined && previous !== undefined ? commaAfter(text, previous) : undefined;
  return [{ from, to, put: '' }, ...(last === undefined ? [] : [{ from: last, to: last + 1, put: '' }])];
}

/** The offset of the comma that follows a node, perhaps after comments; undefined if there is none. */
function commaAfter(text: string, node: Node): number | undefined {
  const scanner = jsonc().createScanner(text, true);
  scanner.setPosition(endOf(node));
  scanner.scan();
  const at = scanner.getTokenOffset();
  return text[at] === ',' ? at : undefined;
}

function endOf(node: Node): number {
  return node.offset + node.length;
}

/**
 * The position after the opening brace and after a comment on its line, because such a comment
 * describes the whole object.
 */
function afterOpening(text: string, object: Node): number {
  const comment = /[ \t]*(?:\/\/[^\r\n]*|\/\*(?:(?!\*\/)[^\r\n])*\*\/(?=[ \t]*[\r\n]))/y;
  comment.lastIndex = object.offset + 1;
  return comment.test(text) ? comment.lastIndex : object.offset + 1;
}

/** The start of the blanks that end at `to`. */
function indentFrom(text: string, to: number): number {
  let from = to;
  while (text[from - 1] === ' ' || text[from - 1] === '\t') from -= 1;
  return from;
}

/** The blanks at the beginning of the line of an offset. */
function indentAt(text: string, offset: number): string {
  const indent = /[ \t]*/y;
  indent.lastIndex = text.lastIndexOf('\n', offset - 1) + 1;
  return indent.exec(text)?.[0] ?? '';
}

/** The layout of a file, so that additions look like the rest. */
interface Style {
  readonly eol: string;
  /** One level of indentation. */
  readonly unit: string;
}

function styleOf(text: string): Style {
  return { eol: eolOf(text), unit: /\n([ \t]+)"/.exec(text)?.[1] ?? '  ' };
}

/** Formats tables, and lists of tables, over several lines. `indent`: that of the line in which the value begins. */
function pretty(value: ConfigValue, style: Style, indent: string): string {
  const inner = indent + style.unit;
  const lines = (open: string, parts: readonly string[], close: string) =>
    `${open}${style.eol}${parts.map((part) => inner + part).join(`,${style.eol}`)}${style.eol}${indent}${close}`;
  if (isList(value) && value.some(isTable)) return lines('[', value.map(compact), ']');
  if (!isTable(value) || Object.keys(value).length === 0) return compact(value);
  const members = Object.entries(value).map(
    ([key, member]) => `${JSON.stringify(key)}: ${pretty(member, style, inner)}`,
  );
  return lines('{', members, '}');
}

/** Formats a value on one line, with a space after commas and colons. */
function compact(value: ConfigValue): string {
  if (isList(value)) return `[${value.map(compact).join(', ')}]`;
  if (!isTable(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${compact(member)}`);
  return `{${members.join(', ')}}`;
}
