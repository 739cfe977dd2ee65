import type { Client } from './client.ts';
import { cannotEdit, type EditedConfig, edited, eolOf, type Splice, spliced } from './edit.ts';
import {
  type EntryEnvironment,
  type JsonEntry,
  jsonCommand,
  jsonEnvironment,
  jsonNames,
  newJsonFile,
  putJsonEntry,
  removeJsonEntry,
  stringMembers,
  unwrapJsonEntries,
  wrapJsonEntry,
} from './json-entry.ts';
import { isObject } from './json-style.ts';
import {
  type Launch,
  needsNoProxy,
  proxyWords,
  similarServer,
  startsAnother,
  whyLeftAlone,
} from './launch.ts';
import { type ConfigNode, memberOf, ScanProblem, stringsOf } from './node.ts';
import { scanToml, type TomlTable } from './toml-scan.ts';
import { type CommandNodes, isOurs, unwrapCommand, wordsOf, wrapCommand } from './wrap.ts';

/** The name of our server's entry in the configuration file of every client. */
const SERVER_NAME = 'lookfirst';

/**
 * Adds our server's entry to the text of a client's file, or updates the entry. `text` is undefined
 * if there is no file.
 */
export function addServer(client: Client, text: string | undefined, entry: JsonEntry): EditedConfig {
  const place = { servers: client.servers, name: SERVER_NAME };
  return client.format === 'json'
    ? putJsonEntry(text, place, entry)
    : putTomlEntry(text, place, tomlEntry(entry));
}

/**
 * Removes our server's entry from the text of a client's file, and our proxy from the entries of
 * other servers. The exact reverse of `addServer` and `wrapServer`.
 */
export function removeServer(client: Client, text: string): EditedConfig {
  const place = { servers: client.servers, name: SERVER_NAME };
  const unwrapped = unwrapServer(client, text, undefined);
  if (!unwrapped.ok || unwrapped.text === undefined) return unwrapped;
  return client.format === 'json'
    ? removeJsonEntry(unwrapped.text, place)
    : removeTomlEntry(unwrapped.text, place);
}

/**
 * The command line in our server's entry of a client's file; undefined if there is none. Throws a
 * ScanProblem if the text cannot be parsed.
 */
export function ownCommand(client: Client, text: string): readonly string[] | undefined {
  const place = { servers: client.servers, name: SERVER_NAME };
  return wordsOf(client.format === 'json' ? jsonCommand(text, place) : tomlCommand(text, place));
}

/** A server in a client's configuration whose command starts our proxy. */
export interface ProxiedServer {
  readonly name: string;
  readonly words: readonly string[];
}

/** The servers in a client's configuration whose commands start our proxy. */
export function proxiedServers(client: Client, text: string): readonly ProxiedServer[] {
  const { servers } = client;
  const names = client.format === 'json' ? jsonNames(text, servers) : tomlNames(text, servers);
  return names.flatMap((name) => {
    const place = { servers, name };
    const words = wordsOf(client.format === 'json' ? jsonCommand(text, place) : tomlCommand(text, place));
    return words !== undefined && proxyWords(words) > 0 ? [{ name, words }] : [];
  });
}

/** The environment variables in the entry of the server `name`; default: the entry of our own server. */
export function entryEnvironment(client: Client, text: string, name: string = SERVER_NAME): EntryEnvironment {
  const place = { servers: client.servers, name };
  return client.format === 'json' ? jsonEnvironment(text, place) : tomlEnvironment(text, place);
}

/** Puts our proxy before the command of a server in the file. */
export function wrapServer(
  client: Client,
  text: string,
  wrap: { name: string; prefix: Launch },
): EditedConfig {
  const place = { servers: client.servers, name: wrap.name };
  return client.format === 'json'
    ? wrapJsonEntry(text, place, wrap.prefix)
    : wrapTomlEntry(text, place, wrap.prefix);
}

/** Removes our proxy from the command of the server `name`; without `name`, from all commands. */
export function unwrapServer(client: Client, text: string, name: string | undefined): EditedConfig {
  const place = { servers: client.servers, ...(name === undefined ? {} : { name }) };
  return client.format === 'json' ? unwrapJsonEntries(text, place) : unwrapTomlEntries(text, place);
}

/** The text of a client's file that holds our server's entry and nothing else. */
export function newFile(client: Client, entry: JsonEntry): string {
  const place = { servers: client.servers, name: SERVER_NAME };
  return client.format === 'json' ? newJsonFile(place, entry) : newTomlFile(place, tomlEntry(entry));
}

/** The location of an entry in a TOML file: the table `[servers.name]`. */
interface TomlPlace {
  readonly servers: string;
  readonly name: string;
}

/** A value of an entry: a string, a list of strings, or a flat table of strings. */
type TomlValue = string | readonly string[] | Readonly<Record<string, string>>;
type TomlEntry = { readonly [key: string]: TomlValue };

/**
 * Converts an entry to values that TOML files hold. Throws for any other value, which would be a
 * mistake in the client's data.
 */
function tomlEntry(entry: JsonEntry): TomlEntry {
  return Object.fromEntries(
    Object.entries(entry).map(([key, value]) => {
      if (typeof value === 'string') return [key, value];
      if (Array.isArray(value)) return [key, value.map(String)];
      if (isObject(value))
        return [key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, String(each)]))];
      throw new TypeError(`${key}: not a string, a list of strings or a flat table`);
    }),
  );
}

/**
 * Appends the entry as its own table, or updates our existing entry. Another server of the same
 * name stays unchanged. The new text ends with a line break if the old text did. From that,
 * `removeTomlEntry` knows how the old text ended.
 */
export function putTomlEntry(text: string | undefined, place: TomlPlace, entry: TomlEntry): EditedConfig {
  if (text === undefined) return edited(newTomlFile(place, entry));
  return withTables(text, (tables) => {
    const table = tableOf(tables, [place.servers, place.name]);
    if (table !== undefined) {
      const words = wordsOf(commandOf(text, table));
      const reason = whyLeftAlone(place.name, { text: linesOf(text, table), words });
      return reason === undefined
        ? edited(spliced(text, updates(text, tables, { table, entry })))
        : cannotEdit(reason, text, table.from);
    }
    const elsewhere = elsewhereIn(tables, place);
    if (elsewhere !== undefined)
      return cannotEdit(
        `"${place.servers}" is not written as tables like [${place.servers}.${place.name}]`,
        text,
        elsewhere,
      );
    const eol = eolOf(text);
    const block = blockOf(place, entry, eol);
    if (text === '') return edited(block);
    return edited(text.endsWith('\n') ? `${text}${eol}${block}${eol}` : `${text}${eol}${eol}${block}`);
  });
}

/**
 * Removes the entry's tables. The new text is undefined, which deletes the file, if the file holds
 * nothing but the entry, as `putTomlEntry` creates it.
 */
export function removeTomlEntry(text: string, place: TomlPlace): EditedConfig {
  return withTables(text, (tables) => {
    const own = tables.filter(({ path }) => path[0] === place.servers && path[1] === place.name);
    const [first] = own;
    if (first === undefined || startsAnother(linesOf(text, first))) return edited(text);
    const last = endOf(own.at(-1) ?? first);
    const before = text.slice(0, first.from);
    const after = text.slice(last);
    if (own.length === 1 && after === '') return edited(withoutBreaks(before, 2));
    if (own.length === 1 && /^\r?\n$/.test(after))
      return edited(before === '' ? undefined : withoutBreaks(before, 1));
    return edited(
      spliced(
        text,
        own.map((table) => cutOf(text, table)),
      ),
    );
  });
}

/**
 * Puts our proxy before the command of an existing entry. Replaces a proxy of ours that is already
 * there.
 */
function wrapTomlEntry(text: string, place: TomlPlace, prefix: Launch): EditedConfig {
  return withTables(text, (tables) => {
    const table = tableOf(tables, [place.servers, place.name]);
    if (table === undefined) {
      const names = namesIn(tables, place.servers);
      return cannotEdit(
        `there is no table [${place.servers}.${place.name}]${similarServer(place.name, names)}`,
      );
    }
    const nodes = commandOf(text, table);
    if (nodes === undefined)
      return cannotEdit(`"${place.name}" has no command that a proxy could start`, text, table.from);
    if (isOurs(nodes)) return cannotEdit(needsNoProxy(place.name), text, table.from);
    const wrapped = unwrapCommand(text, nodes);
    if (wrapped !== undefined) return wrapTomlEntry(spliced(text, wrapped), place, prefix);
    return edited(spliced(text, wrapCommand(text, nodes, prefix, tomlString)));
  });
}

/** Removes our proxy from the entry `place.name`. Without a name, removes it from all entries. */
function unwrapTomlEntries(text: string, place: Partial<TomlPlace> & { servers: string }): EditedConfig {
  return withTables(text, (tables) => {
    const splices = tables
      .filter(({ path }) => path.length === 2 && path[0] === place.servers)
      .filter(({ path }) => place.name === undefined || path[1] === place.name)
      .flatMap((table): readonly Splice[] => {
        const nodes = commandOf(text, table);
        return nodes === undefined ? [] : (unwrapCommand(text, nodes) ?? []);
      });
    return edited(spliced(text, splices));
  });
}

/** The text of a file that holds nothing but this entry. */
function newTomlFile(place: TomlPlace, entry: TomlEntry): string {
  return `${blockOf(place, entry, '\n')}\n`;
}

function withTables(text: string, edit: (tables: readonly TomlTable[]) => EditedConfig): EditedConfig {
  try {
    return edit(scanToml(text));
  } catch (error) {
    if (!(error instanceof ScanProblem)) throw error;
    return cannotEdit(`it is not valid TOML: ${error.message}`, text, error.at);
  }
}

function tableOf(tables: readonly TomlTable[], path: readonly string[]): TomlTable | undefined {
  return tables.find(
    (table) =>
      !table.isArray && table.path.length === path.length && table.path.every((part, i) => part === path[i]),
  );
}

/**
 * The offset at which the file defines its servers, or this server, in another form than the table
 * `[servers.name]`: an array of tables, an inline table or a dotted key. Such a table cannot be
 * added beside these forms. Undefined if the file uses none of them.
 */
function elsewhereIn(tables: readonly TomlTable[], { servers, name }: TomlPlace): number | undefined {
  const array = tables.find(({ path, isArray }) => isArray && path[0] === servers);
  if (array !== undefined) return array.from;
  const keys = tables.flatMap((table) =>
    table.path.length < 2 ? table.keys.map((key) => ({ ...key, path: [...table.path, ...key.path] })) : [],
  );
  return keys.find(({ path }) => path[0] === servers && (path.length === 1 || path[1] === name))?.from;
}

/**
 * The text changes that update the keys of a table. Handles both forms of a value that is itself a
 * table: inline, or as a separate table.
 */
function updates(
  text: string,
  tables: readonly TomlTable[],
  { table, entry }: { readonly table: TomlTable; readonly entry: TomlEntry },
): Splice[] {
  const missing: string[] = [];
  const splices: Splice[] = [];
  for (const [name, value] of Object.entries(entry)) {
    const inner = isFlatTable(value) ? tableOf(tables, [...table.path, name]) : undefined;
    const key = table.keys.find(({ path }) => path.length === 1 && path[0] === name);
    if (inner !== undefined && isFlatTable(value))
      splices.push(...updates(text, tables, { table: inner, entry: value }));
    else if (key === undefined) missing.push(`${eolOf(text)}${name} = ${valueText(value)}`);
    else if (!sameValue(key.value, value))
      splices.push({ from: key.value.from, to: key.value.to, put: changedText(text, key.value, value) });
  }
  splices.push({ from: table.headerEnd, to: table.headerEnd, put: missing.join('') });
  return splices;
}

function isFlatTable(value: TomlValue): value is Readonly<Record<string, string>> {
  return typeof value === 'object' && !Array.isArray(value);
}

function sameValue(node: ConfigNode, value: TomlValue): boolean {
  if (typeof value === 'string') return node.kind === 'string' && node.value === value;
  if (isFlatTable(value))
    return (
      node.kind === 'object' &&
      Object.entries(value).every(([key, wanted]) => {
        const member = memberOf(node, key)?.value;
        return member?.kind === 'string' && member.value === wanted;
      })
    );
  const strings = node.kind === 'array' ? stringsOf(node) : undefined;
  return strings?.length === value.length && strings.every((string, i) => string.value === value[i]);
}

/** The new text of a value. An inline table keeps the keys that the user has added. */
function changedText(text: string, node: ConfigNode, value: TomlValue): string {
  if (!isFlatTable(value) || node.kind !== 'object') return valueText(value);
  const others = node.members.filter(({ key }) => !(key in value));
  const kept = others.map((member) => text.slice(member.from, member.value.to));
  return `{ ${[...kept, ...pairsOf(value)].join(', ')} }`;
}

/** The command of an entry; undefined if the entry is missing or has no command. */
function tomlCommand(text: string, { servers, name }: TomlPlace): CommandNodes | undefined {
  const table = tableOf(scanToml(text), [servers, name]);
  return table === undefined ? undefined : commandOf(text, table);
}

/** The environment variables that the entry sets (`env`), and those that it only names (`forwards`). */
export function tomlEnvironment(text: string, { servers, name }: TomlPlace): EntryEnvironment {
  const tables = scanToml(text);
  const table = tableOf(tables, [servers, name]);
  const nodeOf = (key: string) => table?.keys.find(({ path }) => path.length === 1 && path[0] === key)?.value;
  const inline = nodeOf('env');
  const own = tableOf(tables, [servers, name, 'env'])?.keys ?? [];
  const members = [
    ...(inline?.kind === 'object' ? inline.members : []),
    ...own.map(({ path, value }) => ({ key: path.join('.'), value })),
  ];
  const forwards = nodeOf('env_vars');
  const names = forwards?.kind === 'array' ? (stringsOf(forwards) ?? []) : [];
  return { env: stringMembers(members), forwards: names.map(({ value }) => value) };
}

function commandOf(text: string, table: TomlTable): CommandNodes | undefined {
  const keyOf = (name: string) => table.keys.find(({ path }) => path.length === 1 && path[0] === name);
  const command = keyOf('command');
  const args = keyOf('args')?.value;
  if (command?.value.kind !== 'string' || (args !== undefined && args.kind !== 'array')) return undefined;
  const missing = { at: command.lineEnd, lead: `${eolOf(text)}args = ` };
  return { kind: 'split', command: command.value, args, missing };
}

/**
 * The offset of the end of a table: the end of its last key, or of its header. Comments below
 * belong to the next table.
 */
function endOf(table: TomlTable): number {
  return table.keys.at(-1)?.lineEnd ?? table.headerEnd;
}

/** The body of a table without its header. */
function linesOf(text: string, table: TomlTable): string {
  return text.slice(table.headerEnd, endOf(table));
}

/** The splice that removes a table, the line break after it and one empty line before it. */
function cutOf(text: string, table: TomlTable): Splice {
  const to = endOf(table);
  const lineBreak = /^\r?\n/.exec(text.slice(to))?.[0].length ?? 0;
  const emptyLine = /(?<=\n)\r?\n$/.exec(text.slice(0, table.from))?.[0].length ?? 0;
  return { from: table.from - emptyLine, to: to + lineBreak, put: '' };
}

function withoutBreaks(text: string, count: number): string {
  return count === 0 ? text : withoutBreaks(text.replace(/\r?\n$/, ''), count - 1);
}

function blockOf({ servers, name }: TomlPlace, entry: TomlEntry, eol: string): string {
  const lines = Object.entries(entry).map(([key, value]) => `${key} = ${valueText(value)}`);
  return [`[${servers}.${name}]`, ...lines].join(eol);
}

function valueText(value: TomlValue): string {
  if (typeof value === 'string') return tomlString(value);
  return isFlatTable(value) ? `{ ${pairsOf(value).join(', ')} }` : `[${value.map(tomlString).join(', ')}]`;
}

function pairsOf(table: Readonly<Record<string, string>>): string[] {
  return Object.entries(table).map(([key, value]) => `${key} = ${tomlString(value)}`);
}

/** Writes a TOML basic string: JSON's escapes, and one for the character DEL, which JSON does not escape. */
function tomlString(value: string): string {
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}

/** The names of the servers that a file lists. `servers`: the key of that list. */
function tomlNames(text: string, servers: string): readonly string[] {
  return namesIn(scanToml(text), servers);
}

function namesIn(tables: readonly TomlTable[], servers: string): readonly string[] {
  const names = tables.flatMap(({ path }) => (path[0] === servers && path[1] !== undefined ? [path[1]] : []));
  return [...new Set(names)];
}
