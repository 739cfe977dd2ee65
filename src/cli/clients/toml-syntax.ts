import { isDeepStrictEqual } from 'node:util';
import { parse, TomlError } from 'smol-toml';
import { lineAt } from '../../text/lines.ts';
import {
  ConfigProblem,
  type ConfigSyntax,
  type ConfigTable,
  type ConfigValue,
  eolOf,
  isList,
  isTable,
  valueAt,
} from './config-value.ts';

/**
 * TOML. An edit finds tables and keys by their lines, as users write them; the caller compares the
 * result's values with those it wanted.
 */
export const TOML_SYNTAX: ConfigSyntax = {
  parse(text) {
    try {
      return parsed(text);
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      const [message = ''] = error.message.split('\n');
      throw new ConfigProblem(`it is not valid TOML: ${message.replace(/^Invalid TOML document: /, '')}`, {
        line: error.line,
      });
    }
  },
  write: (table) => `${blocksOf([], table, '\n').join('\n\n')}\n`,
  rewrite(text, want) {
    const next = nextText(text, [], { have: parsed(text), want });
    return next === undefined ? text : TOML_SYNTAX.rewrite(next, want);
  },
  lineOf(text, keys) {
    const section = sectionsOf(text).find(({ path }) => startsWith(path, keys));
    return section === undefined ? undefined : lineAt(text, section.from);
  },
};

function parsed(text: string): ConfigTable {
  // The cast is safe for everything but dates, which are only compared.
  return plain(parse(text.replace(/^\ufeff/, '')) as ConfigTable);
}

/** A copy whose tables have the usual prototype, so that it can be compared with other values. */
function plain(table: ConfigTable): ConfigTable {
  const copied = (value: ConfigValue): ConfigValue => {
    if (isList(value)) return value.map(copied);
    return isTable(value) && !((value as unknown) instanceof Date) ? plain(value) : value;
  };
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, copied(value)]));
}

/** The text after the next edit that brings the table under `path` nearer to `want`; undefined if they are equal. */
function nextText(
  text: string,
  path: readonly string[],
  { have, want }: { readonly have: ConfigTable; readonly want: ConfigTable },
): string | undefined {
  const extra = Object.keys(have).find((key) => !Object.hasOwn(want, key));
  if (extra !== undefined) return withoutKey(text, path, extra);
  for (const [key, value] of Object.entries(want)) {
    const old = valueAt(have, key);
    if (isDeepStrictEqual(old, value)) continue;
    const hasSections = sectionsOf(text).some((section) => startsWith(section.path, [...path, key]));
    if (isTable(old) && isTable(value) && hasSections)
      return nextText(text, [...path, key], { have: old, want: value });
    if (old !== undefined) return withNewValue(text, path, { key, value });
    return isTable(value) && path.length < 2
      ? appended(text, blocksOf([...path, key], value, eolOf(text)))
      : withNewKey(text, path, { key, value });
  }
  return undefined;
}

/** Part of a TOML text: a header such as `[a.b]`, and the lines up to the next header. */
interface Section {
  readonly path: readonly string[];
  readonly isArray: boolean;
  readonly from: number;
  /** The end of the header's line, before its line break. */
  readonly headerEnd: number;
  readonly to: number;
}

function sectionsOf(text: string): readonly Section[] {
  const headers = [...text.matchAll(/(?<=^\ufeff?)[ \t]*\[.*$/gm)].flatMap((match) => {
    const path = headerPath(match[0]);
    const isArray = /^[ \t]*\[\[/.test(match[0]);
    const headerEnd = match.index + match[0].trimEnd().length;
    return path === undefined ? [] : [{ path, isArray, from: match.index, headerEnd }];
  });
  return headers.map((header, index) => ({ ...header, to: headers[index + 1]?.from ?? text.length }));
}

/** The keys that a header names; undefined for a line that is no header, such as one of an array. */
function headerPath(line: string): readonly string[] | undefined {
  const path: string[] = [];
  try {
    let value: ConfigValue | undefined = parsed(line);
    while (value !== undefined) {
      const [key]: readonly string[] = isTable(value) ? Object.keys(value) : [];
      if (key !== undefined) path.push(key);
      value = isList(value) ? value[0] : valueAt(value, key ?? '');
    }
    return path;
  } catch (error) {
    if (error instanceof TomlError) return undefined;
    throw error;
  }
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((key, index) => path[index] === key);
}

/** The section whose header names exactly these keys. Throws a ConfigProblem if the file is written otherwise. */
function sectionAt(text: string, path: readonly string[]): Section {
  const section = sectionsOf(text).find(
    (each) => !each.isArray && each.path.length === path.length && startsWith(each.path, path),
  );
  if (section === undefined)
    throw new ConfigProblem(`it does not have the table [${path.join('.')}]`, { keys: path.slice(0, 1) });
  return section;
}

/** A key with its value, in the lines of a section. */
interface Statement {
  readonly from: number;
  readonly valueFrom: number;
  /** The end of the value, before a comment. */
  readonly valueTo: number;
  /** The end of the value's last line, before its line break. */
  readonly to: number;
}

/** The statement of a key in the section `path`. Throws a ConfigProblem if the key is written in another form. */
function statementAt(text: string, path: readonly string[], key: string): Statement {
  const section = sectionAt(text, path);
  const start = new RegExp(`^[ \\t]*(?:${key}|"${key}"|'${key}')[ \\t]*=[ \\t]*`, 'gm');
  start.lastIndex = section.headerEnd;
  const match = BARE_KEY.test(key) ? start.exec(text) : null;
  if (match !== null && match.index < section.to) {
    const from = match.index;
    // A value may have several lines, so lines are added until they are valid.
    for (const to of lineEnds(text, from, section.to)) {
      const line = text.slice(from, to);
      if (valueIn(line) === undefined) continue;
      return { from, valueFrom: from + match[0].length, valueTo: from + valueEnd(line, match[0].length), to };
    }
  }
  throw new ConfigProblem(`${[...path, key].join('.')} is not on lines of its own`, { keys: path });
}

const BARE_KEY = /^[\w-]+$/;

/** The ends of the lines between two offsets, before their line breaks. */
function* lineEnds(text: string, from: number, to: number): Iterable<number> {
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1))
    yield text[at - 1] === '\r' ? at - 1 : at;
  yield to;
}

/** The value of the only key in a text; undefined if the text is not valid. */
function valueIn(text: string): ConfigValue | undefined {
  try {
    return Object.values(parsed(text))[0];
  } catch (error) {
    if (error instanceof TomlError) return undefined;
    throw error;
  }
}

/** The offset at which a statement's value ends. A number sign that no value contains begins a comment. */
function valueEnd(line: string, from: number): number {
  const value = valueIn(line);
  for (let at = line.indexOf('#', from); at >= 0; at = line.indexOf('#', at + 1))
    if (isDeepStrictEqual(valueIn(line.slice(0, at)), value)) return line.slice(0, at).trimEnd().length;
  return line.trimEnd().length;
}

function withNewValue(
  text: string,
  path: readonly string[],
  { key, value }: { readonly key: string; readonly value: ConfigValue },
): string {
  const { valueFrom, valueTo } = statementAt(text, path, key);
  return text.slice(0, valueFrom) + valueText(value) + text.slice(valueTo);
}

function withNewKey(
  text: string,
  path: readonly string[],
  { key, value }: { readonly key: string; readonly value: ConfigValue },
): string {
  const { headerEnd } = sectionAt(text, path);
  return `${text.slice(0, headerEnd)}${eolOf(text)}${keyText(key)} = ${valueText(value)}${text.slice(headerEnd)}`;
}

/** Removes a key and its lines, or the sections of a table. */
function withoutKey(text: string, path: readonly string[], key: string): string {
  const section = sectionsOf(text).find((each) => startsWith(each.path, [...path, key]));
  if (section !== undefined) return withoutSection(text, section);
  const { from, to } = statementAt(text, path, key);
  return text.slice(0, from) + text.slice(to).replace(/^\r?\n/, '');
}

/**
 * Removes a section and one empty line before it. Comments after its last key belong to the next
 * section and stay.
 */
function withoutSection(text: string, { from, headerEnd, to }: Section): string {
  const body = text.slice(headerEnd, to);
  const comments = /(?:\r?\n[ \t]*(?:#[^\n]*)?)*$/.exec(body)?.index ?? body.length;
  const before = text.slice(0, from).replace(/(?<=\n|^)\r?\n$/, '');
  return before + text.slice(headerEnd + comments).replace(/^\r?\n/, '');
}

function appended(text: string, blocks: readonly string[]): string {
  const eol = eolOf(text);
  const gap = text.trim() === '' ? '' : text.endsWith('\n') ? eol : eol + eol;
  return `${text}${gap}${blocks.join(eol + eol)}${eol}`;
}

/** The sections that define a table. Tables deeper than an entry are written inline. */
function blocksOf(path: readonly string[], table: ConfigTable, eol: string): readonly string[] {
  const inner = path.length < 2 ? Object.entries(table).filter(([, value]) => isTable(value)) : [];
  const lines = Object.entries(table)
    .filter(([key]) => inner.every(([other]) => other !== key))
    .map(([key, value]) => `${keyText(key)} = ${valueText(value)}`);
  const own =
    lines.length === 0 && inner.length > 0 ? [] : [[`[${path.map(keyText).join('.')}]`, ...lines].join(eol)];
  return [
    ...own,
    ...inner.flatMap(([key, value]) => (isTable(value) ? blocksOf([...path, key], value, eol) : [])),
  ];
}

function keyText(key: string): string {
  return BARE_KEY.test(key) ? key : tomlString(key);
}

function valueText(value: ConfigValue): string {
  if (isList(value)) return `[${value.map(valueText).join(', ')}]`;
  if (!isTable(value)) return typeof value === 'string' ? tomlString(value) : String(value);
  return `{ ${Object.entries(value)
    .map(([key, each]) => `${keyText(key)} = ${valueText(each)}`)
    .join(', ')} }`;
}

/** A TOML basic string: JSON's escapes, and one for the character DEL, which JSON does not escape. */
function tomlString(value: string): string {
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}
