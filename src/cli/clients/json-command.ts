import { scanJson } from './json-scan.ts';
import { type ConfigNode, type MemberNode, memberOf, type ObjectNode } from './node.ts';
import type { CommandNodes } from './wrap.ts';

/** The command of the entry `place.name`; undefined if the entry is missing or has no command. */
export function jsonCommand(
  text: string,
  place: { readonly servers: string; readonly name: string },
): CommandNodes | undefined {
  const entry = entryOf(text, place);
  return entry === undefined ? undefined : jsonCommandOf(entry);
}

/** The command of an entry in a JSON file; undefined if it has none, or if it is not literal. */
export function jsonCommandOf(entry: MemberNode): CommandNodes | undefined {
  if (entry.value.kind !== 'object') return undefined;
  const command = memberOf(entry.value, 'command')?.value;
  const args = memberOf(entry.value, 'args')?.value;
  if (command?.kind === 'array' && command.items.length > 0) return { kind: 'list', list: command };
  if (command?.kind !== 'string' || (args !== undefined && args.kind !== 'array')) return undefined;
  return { kind: 'split', command, args, missing: { at: command.to, lead: ', "args": ' } };
}

/** Variables of an entry: those it sets, and those it passes on by name. */
export interface EntryEnvironment {
  readonly env: Readonly<Record<string, string>>;
  readonly forwards: readonly string[];
}

/** The variables that an entry in a JSON file sets; opencode calls them `environment`. */
export function jsonEnvironment(
  text: string,
  place: { readonly servers: string; readonly name: string },
): EntryEnvironment {
  const entry = entryOf(text, place)?.value;
  const node =
    entry?.kind === 'object' ? (memberOf(entry, 'env') ?? memberOf(entry, 'environment'))?.value : undefined;
  return { env: node?.kind === 'object' ? stringMembers(node.members) : {}, forwards: [] };
}

/** The members that are strings. */
export function stringMembers(
  members: readonly { readonly key: string; readonly value: ConfigNode }[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    members.flatMap(({ key, value }) => (value.kind === 'string' ? [[key, value.value]] : [])),
  );
}

/** The names of the entries under a key. */
export function jsonNames(text: string, servers: string): readonly string[] {
  return serversOf(text, servers)?.members.map(({ key }) => key) ?? [];
}

function entryOf(
  text: string,
  place: { readonly servers: string; readonly name: string },
): MemberNode | undefined {
  const servers = serversOf(text, place.servers);
  return servers === undefined ? undefined : memberOf(servers, place.name);
}

function serversOf(text: string, key: string): ObjectNode | undefined {
  const root = scanJson(text);
  const servers = root?.kind === 'object' ? memberOf(root, key)?.value : undefined;
  return servers?.kind === 'object' ? servers : undefined;
}
