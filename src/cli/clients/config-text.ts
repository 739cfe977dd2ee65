import type { Client } from './client.ts';
import type { EditedConfig } from './edit.ts';
import {
  type EntryEnvironment,
  type JsonEntry,
  jsonCommand,
  jsonEnvironment,
  jsonNames,
  newJsonFile,
  putJsonEntry,
  removeJsonEntry,
  unwrapJsonEntries,
  wrapJsonEntry,
} from './json-entry.ts';
import { type Launch, proxyWords } from './launch.ts';
import {
  newTomlFile,
  putTomlEntry,
  removeTomlEntry,
  tomlCommand,
  tomlEntry,
  tomlEnvironment,
  tomlNames,
  unwrapTomlEntries,
  wrapTomlEntry,
} from './toml-entry.ts';
import { wordsOf } from './wrap.ts';

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

/** A server of the client whose command starts our proxy. */
export interface ProxiedServer {
  readonly name: string;
  readonly words: readonly string[];
}

/** The servers behind our proxy. */
export function proxiedServers(client: Client, text: string): readonly ProxiedServer[] {
  const { servers } = client;
  const names = client.format === 'json' ? jsonNames(text, servers) : tomlNames(text, servers);
  return names.flatMap((name) => {
    const place = { servers, name };
    const words = wordsOf(client.format === 'json' ? jsonCommand(text, place) : tomlCommand(text, place));
    return words !== undefined && proxyWords(words) > 0 ? [{ name, words }] : [];
  });
}

/** The environment variables of an entry; default: ours. */
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
