import type { Client } from './client.ts';
import { cannotEdit, type EditedConfig, edited, type Splice, spliced } from './edit.ts';
import { type EntryEnvironment, jsonCommand, jsonCommandOf, jsonEnvironment } from './json-command.ts';
import {
  type EntryPlace,
  type JsonEntry,
  newJsonFile,
  putJsonEntry,
  removeJsonEntry,
  withDocument,
} from './json-entry.ts';
import { isObject } from './json-style.ts';
import type { Launch } from './launch.ts';
import { memberOf } from './node.ts';
import { needsNoProxy } from './ownership.ts';
import {
  newTomlFile,
  putTomlEntry,
  removeTomlEntry,
  type TomlEntry,
  tomlCommand,
  tomlEnvironment,
  unwrapTomlEntries,
  wrapTomlEntry,
} from './toml-entry.ts';
import { isOurs, unwrapCommand, wordsOf, wrapCommand } from './wrap.ts';

/** The name our entry has in every client. */
const SERVER_NAME = 'lookfirst';

/** Adds our entry to a client's file, or updates it; `text` is undefined if there is no file. */
export function addServer(client: Client, text: string | undefined, entry: JsonEntry): EditedConfig {
  const place = { servers: client.servers, name: SERVER_NAME };
  return client.format === 'json'
    ? putJsonEntry(text, place, entry)
    : putTomlEntry(text, place, tomlEntry(entry));
}

/** Removes our entry, and our proxy from other entries. The exact reverse of `addServer` and `wrapServer`. */
export function removeServer(client: Client, text: string): EditedConfig {
  const place = { servers: client.servers, name: SERVER_NAME };
  const unwrapped = unwrapServer(client, text, undefined);
  if (!unwrapped.ok || unwrapped.text === undefined) return unwrapped;
  return client.format === 'json'
    ? removeJsonEntry(unwrapped.text, place)
    : removeTomlEntry(unwrapped.text, place);
}

/** The command line of our entry; undefined if the text has none or cannot be parsed. */
export function ownCommand(client: Client, text: string): readonly string[] | undefined {
  const place = { servers: client.servers, name: SERVER_NAME };
  return wordsOf(client.format === 'json' ? jsonCommand(text, place) : tomlCommand(text, place));
}

/** The environment variables of our entry. */
export function ownEnvironment(client: Client, text: string): EntryEnvironment {
  const place = { servers: client.servers, name: SERVER_NAME };
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

/** Removes our proxy from one server's command, or from all. */
export function unwrapServer(client: Client, text: string, name: string | undefined): EditedConfig {
  const place = { servers: client.servers, ...(name === undefined ? {} : { name }) };
  return client.format === 'json' ? unwrapJsonEntries(text, place) : unwrapTomlEntries(text, place);
}

/** A whole file with our entry and nothing else. */
export function newFile(client: Client, entry: JsonEntry): string {
  const place = { servers: client.servers, name: SERVER_NAME };
  return client.format === 'json' ? newJsonFile(place, entry) : newTomlFile(place, tomlEntry(entry));
}

/** The data of a TOML client holds strings, lists of strings and flat tables. Anything else is a mistake in that data. */
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

/** Puts our proxy before the command of an existing entry. Wrapping twice changes only the folder. */
function wrapJsonEntry(text: string, place: EntryPlace, prefix: Launch): EditedConfig {
  return withDocument(text, place, ({ servers }) => {
    const entry = servers === undefined ? undefined : memberOf(servers, place.name);
    if (entry === undefined) return cannotEdit(`there is no server "${place.name}" under "${place.servers}"`);
    const nodes = jsonCommandOf(entry);
    if (nodes === undefined)
      return cannotEdit(`"${place.name}" has no command that a proxy could start`, text, entry.from);
    if (isOurs(nodes)) return cannotEdit(needsNoProxy(place.name), text, entry.from);
    const wrapped = unwrapCommand(text, nodes);
    if (wrapped !== undefined) return wrapJsonEntry(spliced(text, wrapped), place, prefix);
    return edited(
      spliced(
        text,
        wrapCommand(text, nodes, prefix, (word) => JSON.stringify(word)),
      ),
    );
  });
}

/** Removes our proxy from every entry that has it, or only from the named one. */
function unwrapJsonEntries(text: string, place: Partial<EntryPlace> & { servers: string }): EditedConfig {
  return withDocument(text, place, ({ servers }) => {
    const splices = (servers?.members ?? [])
      .filter(({ key }) => place.name === undefined || key === place.name)
      .flatMap((entry): readonly Splice[] => {
        const nodes = jsonCommandOf(entry);
        return nodes === undefined ? [] : (unwrapCommand(text, nodes) ?? []);
      });
    return edited(spliced(text, splices));
  });
}
