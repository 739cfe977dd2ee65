import { cannotEdit, type Edited, edited, eolOf, type Splice, spliced } from './edit.ts';
import type { Launch } from './launch.ts';
import { type ConfigNode, ScanProblem, stringsOf } from './node.ts';
import { needsNoProxy, startsAnother, whyLeftAlone } from './ownership.ts';
import { scanToml, type TomlTable } from './toml-scan.ts';
import { type CommandNodes, isOurs, unwrapCommand, wordsOf, wrapCommand } from './wrap.ts';

/** Where entries stand: `[servers.name]`. */
export interface TomlPlace {
  readonly servers: string;
  readonly name: string;
}

/** An entry's lines: keys with a string or a list of strings. */
export type TomlEntry = { readonly [key: string]: string | readonly string[] };

/**
 * Appends the entry as a table of its own, or brings the keys of our own up to date; another server of that name is not
 * touched. `removeTomlEntry` takes an appended
 * table out again so that the former text comes back exactly: the table ends with a line break if the text before it
 * did, or if there was no file.
 */
export function putTomlEntry(text: string | undefined, place: TomlPlace, entry: TomlEntry): Edited {
  if (text === undefined) return edited(newTomlFile(place, entry));
  return withTables(text, (tables) => {
    const table = tableOf(tables, [place.servers, place.name]);
    if (table !== undefined) {
      const words = wordsOf(commandOf(text, table));
      const reason = whyLeftAlone(place.name, { text: linesOf(text, table), words });
      return reason === undefined
        ? edited(updated(text, table, entry))
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

/** Takes the entry's tables out, and the file if nothing else was ever in it. */
export function removeTomlEntry(text: string, place: TomlPlace): Edited {
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

/** Puts our proxy before the command of an entry that is there. Wrapping twice changes nothing but the folder. */
export function wrapTomlEntry(text: string, place: TomlPlace, prefix: Launch): Edited {
  return withTables(text, (tables) => {
    const table = tableOf(tables, [place.servers, place.name]);
    if (table === undefined) return cannotEdit(`there is no table [${place.servers}.${place.name}]`);
    const nodes = commandOf(text, table);
    if (nodes === undefined)
      return cannotEdit(`"${place.name}" has no command that a proxy could start`, text, table.from);
    if (isOurs(nodes)) return cannotEdit(needsNoProxy(place.name), text, table.from);
    const wrapped = unwrapCommand(text, nodes);
    if (wrapped !== undefined) return wrapTomlEntry(spliced(text, wrapped), place, prefix);
    return edited(spliced(text, wrapCommand(text, nodes, prefix, tomlString)));
  });
}

/** Takes our proxy away from every entry that has it, or only from the one named. */
export function unwrapTomlEntries(text: string, place: Partial<TomlPlace> & { servers: string }): Edited {
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
export function newTomlFile(place: TomlPlace, entry: TomlEntry): string {
  return `${blockOf(place, entry, '\n')}\n`;
}

function withTables(text: string, edit: (tables: readonly TomlTable[]) => Edited): Edited {
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

/** Where the entry, or the table it would go into, is written in a way that a table cannot be added to. */
function elsewhereIn(tables: readonly TomlTable[], { servers, name }: TomlPlace): number | undefined {
  const array = tables.find(({ path, isArray }) => isArray && path[0] === servers);
  if (array !== undefined) return array.from;
  const keys = tables.flatMap((table) =>
    table.path.length < 2 ? table.keys.map((key) => ({ ...key, path: [...table.path, ...key.path] })) : [],
  );
  return keys.find(({ path }) => path[0] === servers && (path.length === 1 || path[1] === name))?.from;
}

function updated(text: string, table: TomlTable, entry: TomlEntry): string {
  const missing: string[] = [];
  const splices: Splice[] = [];
  for (const [name, value] of Object.entries(entry)) {
    const key = table.keys.find(({ path }) => path.length === 1 && path[0] === name);
    if (key === undefined) missing.push(`${eolOf(text)}${name} = ${valueText(value)}`);
    else if (!sameValue(key.value, value))
      splices.push({ from: key.value.from, to: key.value.to, put: valueText(value) });
  }
  splices.push({ from: table.headerEnd, to: table.headerEnd, put: missing.join('') });
  return spliced(text, splices);
}

function sameValue(node: ConfigNode, value: string | readonly string[]): boolean {
  if (typeof value === 'string') return node.kind === 'string' && node.value === value;
  const strings = node.kind === 'array' ? stringsOf(node) : undefined;
  return strings?.length === value.length && strings.every((string, i) => string.value === value[i]);
}

/** The command of the entry, if it is there and has one. */
export function tomlCommand(text: string, { servers, name }: TomlPlace): CommandNodes | undefined {
  const table = tableOf(scanToml(text), [servers, name]);
  return table === undefined ? undefined : commandOf(text, table);
}

function commandOf(text: string, table: TomlTable): CommandNodes | undefined {
  const keyOf = (name: string) => table.keys.find(({ path }) => path.length === 1 && path[0] === name);
  const command = keyOf('command');
  const args = keyOf('args')?.value;
  if (command?.value.kind !== 'string' || (args !== undefined && args.kind !== 'array')) return undefined;
  const missing = { at: command.lineEnd, lead: `${eolOf(text)}args = ` };
  return { kind: 'split', command: command.value, args, missing };
}

/** Where a table's own lines end; comments below them belong to whatever follows. */
function endOf(table: TomlTable): number {
  return table.keys.at(-1)?.lineEnd ?? table.headerEnd;
}

/** What a table says, without its name. */
function linesOf(text: string, table: TomlTable): string {
  return text.slice(table.headerEnd, endOf(table));
}

/** A table with the line break behind it and one empty line before it. */
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

function valueText(value: string | readonly string[]): string {
  return typeof value === 'string' ? tomlString(value) : `[${value.map(tomlString).join(', ')}]`;
}

/** A basic string: JSON's escapes, and one more for the character JSON leaves alone. */
function tomlString(value: string): string {
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}
