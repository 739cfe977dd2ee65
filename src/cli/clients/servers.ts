import type { Client } from './client.ts';
import {
  ConfigProblem,
  type ConfigTable,
  type ConfigValue,
  isList,
  isTable,
  valueAt,
  withoutValue,
  withValue,
} from './config-value.ts';
import { CONFIG_SYNTAXES, valuesOf } from './edit-config.ts';
import {
  type Launch,
  needsNoProxy,
  proxyWords,
  similarServer,
  startsAnother,
  startsUs,
  whyLeftAlone,
} from './launch.ts';

/** The name of our server's entry in the configuration file of every client. */
const SERVER_NAME = 'lookfirst';

/** The values of a client's file; undefined if it cannot be parsed. */
export function clientValues(client: Client, text: string): ConfigTable | undefined {
  return valuesOf(CONFIG_SYNTAXES[client.format], text);
}

/** The text of a client's file that holds our server's entry and nothing else. */
export function newFile(client: Client, entry: ConfigTable): string {
  return CONFIG_SYNTAXES[client.format].write({ [client.servers]: { [SERVER_NAME]: entry } });
}

/**
 * Adds our server's entry, or updates it and keeps the keys that the user added to it. Throws a
 * ConfigProblem if another program has our name, or if the user changed our arguments.
 */
export function withServer(client: Client, have: ConfigTable, entry: ConfigTable): ConfigTable {
  const keys = [client.servers, SERVER_NAME];
  const there = serversOf(client, have)[SERVER_NAME];
  if (there === undefined) return withValue(have, keys, entry);
  const reason = whyLeftAlone(SERVER_NAME, { text: JSON.stringify(there), words: wordsOf(there) });
  if (reason !== undefined) throw new ConfigProblem(reason, { keys, byHand: false });
  return withValue(have, keys, isTable(there) ? merged(there, entry) : entry);
}

/** Replaces values; tables keep the members that the user has added to them. */
function merged(old: ConfigTable, entry: ConfigTable): ConfigTable {
  const values = Object.entries(entry).map(([key, value]) => {
    const before = old[key];
    return [key, isTable(before) && isTable(value) ? { ...before, ...value } : value] as const;
  });
  return { ...old, ...Object.fromEntries(values) };
}

/**
 * Removes our server's entry, and our proxy from the entries of other servers. `former`: the
 * content before `init`, if it is known.
 */
export function withoutServers(
  client: Client,
  have: ConfigTable,
  former: ConfigTable | undefined,
): ConfigTable {
  const unwrapped = withoutProxy(client, have, undefined);
  const own = serversOf(client, unwrapped)[SERVER_NAME];
  if (own === undefined || startsAnother(JSON.stringify(own))) return unwrapped;
  return withoutValue(unwrapped, [client.servers, SERVER_NAME], former);
}

/** True if the file has an entry of ours, or our proxy before another server. */
export function hasOurs(client: Client, have: ConfigTable): boolean {
  return isTable(valueAt(have, client.servers)) && withoutServers(client, have, undefined) !== have;
}

/** Puts our proxy before the command of a server. Replaces a proxy of ours that is already there. */
export function withProxy(
  client: Client,
  have: ConfigTable,
  { name, prefix }: { readonly name: string; readonly prefix: Launch },
): ConfigTable {
  const { servers } = client;
  const keys = [servers, name];
  const there = serversOf(client, have)[name];
  if (there === undefined)
    throw new ConfigProblem(
      `there is no server "${name}" under "${servers}"${similarServer(name, Object.keys(serversOf(client, have)))}`,
    );
  const words = wordsOf(there);
  if (words === undefined || !isTable(there))
    throw new ConfigProblem(`"${name}" has no command that a proxy could start`, { keys });
  if (proxyWords(words) === 0 && startsUs(words)) throw new ConfigProblem(needsNoProxy(name), { keys });
  const wrapped = [prefix.command, ...prefix.args, ...words.slice(proxyWords(words))];
  return withValue(have, keys, withWords(there, wrapped));
}

/** Removes our proxy from the command of the server `name`; without `name`, from all commands. */
export function withoutProxy(client: Client, have: ConfigTable, name: string | undefined): ConfigTable {
  return proxiedServers(client, have)
    .filter((server) => name === undefined || server.name === name)
    .reduce((table, server) => {
      const keys = [client.servers, server.name];
      const entry = valueAt(table, ...keys);
      const words = server.words.slice(proxyWords(server.words));
      return isTable(entry) ? withValue(table, keys, withWords(entry, words)) : table;
    }, have);
}

/** A server in a client's configuration whose command starts our proxy. */
export interface ProxiedServer {
  readonly name: string;
  readonly words: readonly string[];
}

export function proxiedServers(client: Client, have: ConfigTable): readonly ProxiedServer[] {
  return Object.entries(serversOf(client, have)).flatMap(([name, entry]) => {
    const words = wordsOf(entry);
    return words !== undefined && proxyWords(words) > 0 ? [{ name, words }] : [];
  });
}

/** The command line in our server's entry; undefined if there is none. */
export function ownCommand(client: Client, have: ConfigTable): readonly string[] | undefined {
  return wordsOf(valueAt(have, client.servers, SERVER_NAME));
}

/**
 * Environment variables of a server's entry. `env`: those that the entry sets. `forwards`: those
 * that it only names, so that the client passes its own values to the server.
 */
interface EntryEnvironment {
  readonly env: Readonly<Record<string, string>>;
  readonly forwards: readonly string[];
}

/** The environment in the entry of the server `name`: `env`, in opencode `environment`. */
export function entryEnvironment(
  client: Client,
  have: ConfigTable,
  name: string = SERVER_NAME,
): EntryEnvironment {
  const entry = valueAt(have, client.servers, name);
  const env = valueAt(entry, 'env') ?? valueAt(entry, 'environment');
  const set = Object.entries(isTable(env) ? env : {}).flatMap(([key, value]) =>
    typeof value === 'string' ? [[key, value] as const] : [],
  );
  return { env: Object.fromEntries(set), forwards: stringsOf(valueAt(entry, 'env_vars')) ?? [] };
}

/** The table that lists the servers; empty if there is none. Throws a ConfigProblem for anything else. */
function serversOf({ servers }: Client, have: ConfigTable): ConfigTable {
  const value = valueAt(have, servers) ?? (Object.hasOwn(have, servers) ? null : {});
  if (isTable(value)) return value;
  throw new ConfigProblem(`"${servers}" is not an object`, { keys: [servers] });
}

/**
 * The words of an entry's command: one list, or a string `command` with an optional list `args`.
 * Undefined for any other form.
 */
function wordsOf(entry: ConfigValue | undefined): readonly string[] | undefined {
  const { command, args = [] } = isTable(entry) ? entry : {};
  const rest = stringsOf(args);
  if (typeof command === 'string') return rest === undefined ? undefined : [command, ...rest];
  const list = stringsOf(command);
  return list?.length === 0 ? undefined : list;
}

/** The entry with another command, in the same form. A list of arguments that becomes empty goes. */
function withWords(entry: ConfigTable, [command = '', ...args]: readonly string[]): ConfigTable {
  if (isList(entry['command'])) return { ...entry, command: [command, ...args] };
  const { args: _old, ...others } = entry;
  return args.length === 0 ? { ...others, command } : { ...entry, command, args };
}

function stringsOf(value: ConfigValue | undefined): readonly string[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined;
}
