import { cannotEdit, type EditedConfig, edited, type Splice, spliced } from './edit.ts';
import { fillEmpty, insertFirst, newMember, removeMember } from './json-members.ts';
import { scanJson } from './json-scan.ts';
import { compact, isObject, type JsonStyle, type JsonValue, pretty, styleOf } from './json-style.ts';
import { type Launch, needsNoProxy, similarServer, startsAnother, whyLeftAlone } from './launch.ts';
import { type ConfigNode, type MemberNode, memberOf, type ObjectNode, ScanProblem } from './node.ts';
import { type CommandNodes, isOurs, unwrapCommand, wordsOf, wrapCommand } from './wrap.ts';

/** The entry of a server in a configuration file: its keys and values, in order. */
export type JsonEntry = { readonly [key: string]: JsonValue };

/**
 * The location of an entry: `servers` is a key of the outermost object, and `name` is a key of the
 * object under that key.
 */
export interface EntryPlace {
  readonly servers: string;
  readonly name: string;
}

const NEW_STYLE: JsonStyle = { eol: '\n', unit: '  ' };

/**
 * Adds an entry, or updates the keys of our own entry. Another server of that name is not touched.
 * From the white space after an opening brace, `removeJsonEntry` later knows what to restore. No
 * white space: the object was there and empty. A line break: the object is new. A space: the file
 * was blank.
 */
export function putJsonEntry(text: string | undefined, place: EntryPlace, entry: JsonEntry): EditedConfig {
  if (text === undefined) return edited(newJsonFile(place, entry));
  return withDocument(text, place, ({ root, servers }) => {
    const style = styleOf(text);
    if (root === undefined) {
      const bom = text.startsWith('\ufeff') ? 1 : 0;
      const written = `{ ${newServers(place, entry, style)} }`;
      return edited(spliced(text, [{ from: bom, to: bom, put: written }]));
    }
    if (servers === undefined) {
      if (root.members.length === 0)
        return edited(spliced(text, [fillEmpty(root, newServers(place, entry, style))]));
      const write = (indent = '') =>
        serversText(place, entryText(entry, style, indent), { ...style, indent });
      return edited(spliced(text, [insertFirst(text, root, { key: place.servers, write })]));
    }
    const there = memberOf(servers, place.name);
    if (there !== undefined) return changeEntry(text, there, { place, entry });
    const added =
      servers.members.length > 0
        ? insertFirst(text, servers, newMember(place.name, entry, style))
        : fillEmpty(servers, `${JSON.stringify(place.name)}: ${compact(entry)}`);
    return edited(spliced(text, [added]));
  });
}

/** Removes the entry, and the objects and the file that `putJsonEntry` created for it. */
export function removeJsonEntry(text: string, place: EntryPlace): EditedConfig {
  return withDocument(text, place, ({ root, servers }) => {
    const entry = servers === undefined ? undefined : ownEntry(text, servers, place.name);
    if (root === undefined || servers === undefined || entry === undefined) return edited(text);
    if (!isCreated(text, servers, entry)) return edited(spliced(text, removeMember(text, servers, entry)));
    const value = text.slice(entry.value.from, entry.value.to);
    if (text === fileText(place, value, NEW_STYLE)) return edited(undefined);
    const container = memberOf(root, place.servers);
    if (container === undefined) return edited(text);
    const blank =
      text.slice(root.from, container.from) === '{ ' && text.slice(container.value.to, root.to) === ' }';
    if (blank) return edited(spliced(text, [{ from: root.from, to: root.to, put: '' }]));
    return edited(spliced(text, removeMember(text, root, container)));
  });
}

/** The text of a file that holds nothing but this entry. */
export function newJsonFile(place: EntryPlace, entry: JsonEntry): string {
  return fileText(place, entryText(entry, NEW_STYLE, NEW_STYLE.unit), NEW_STYLE);
}

interface Document {
  /** The outermost object of the document; undefined for a blank text. */
  readonly root: ObjectNode | undefined;
  readonly servers: ObjectNode | undefined;
}

/**
 * Parses the document and calls `edit` with it. Refuses a document that is not valid JSON, or in
 * which the outermost value or the list of servers is not an object.
 */
function withDocument(
  text: string,
  { servers: key }: { readonly servers: string },
  edit: (document: Document) => EditedConfig,
): EditedConfig {
  let root: ConfigNode | undefined;
  try {
    root = scanJson(text);
  } catch (error) {
    if (!(error instanceof ScanProblem)) throw error;
    return cannotEdit(`it is not valid JSON: ${error.message}`, text, error.at);
  }
  if (root === undefined) return edit({ root, servers: undefined });
  if (root.kind !== 'object') return cannotEdit('it is not a JSON object', text, root.from);
  const servers = memberOf(root, key)?.value;
  if (servers !== undefined && servers.kind !== 'object')
    return cannotEdit(`"${key}" is not an object`, text, servers.from);
  return edit({ root, servers });
}

/**
 * True if `putJsonEntry` created the object that lists the servers. Such an object begins with a
 * line break and holds only this entry.
 */
function isCreated(text: string, servers: ObjectNode, entry: MemberNode): boolean {
  const before = text.slice(servers.from + 1, entry.from);
  const after = text.slice(entry.value.to, servers.to - 1);
  return servers.members.length === 1 && /^\r?\n[ \t]*$/.test(before) && /^\s*$/.test(after);
}

function changeEntry(
  text: string,
  there: MemberNode,
  { place, entry }: { readonly place: EntryPlace; readonly entry: JsonEntry },
): EditedConfig {
  const words = wordsOf(jsonCommandOf(there));
  const reason = whyLeftAlone(place.name, { text: valueText(text, there), words });
  return reason === undefined ? edited(updated(text, place, entry)) : cannotEdit(reason, text, there.from);
}

/** The entry with our name; undefined if it is missing or starts another program. */
function ownEntry(text: string, servers: ObjectNode, name: string): MemberNode | undefined {
  const entry = memberOf(servers, name);
  return entry === undefined || startsAnother(valueText(text, entry)) ? undefined : entry;
}

function valueText(text: string, { value }: MemberNode): string {
  return text.slice(value.from, value.to);
}

/**
 * Writes the keys of `entry` into the existing entry at `place`. Parses the text again for each
 * key, because each update moves the text that follows.
 */
function updated(text: string, place: EntryPlace, entry: JsonEntry): string {
  return Object.entries(entry).reduce((current, [key, value]) => {
    const root = scanJson(current);
    const servers = root?.kind === 'object' ? memberOf(root, place.servers)?.value : undefined;
    const node = servers?.kind === 'object' ? memberOf(servers, place.name)?.value : undefined;
    if (node === undefined) return current;
    if (node.kind !== 'object')
      return spliced(current, [{ from: node.from, to: node.to, put: compact(entry) }]);
    const written = `${JSON.stringify(key)}: ${compact(value)}`;
    if (node.members.length === 0) return spliced(current, [fillEmpty(node, written)]);
    const member = memberOf(node, key);
    if (member === undefined)
      return spliced(current, [insertFirst(current, node, newMember(key, value, styleOf(current)))]);
    const { from, to } = member.value;
    const wanted = mergedWith(current, member.value, value);
    if (sameJson(current, member.value, wanted)) return current;
    return spliced(current, [{ from, to, put: compact(wanted) }]);
  }, text);
}

/**
 * Merges a new value into an old one. An object keeps the members that the user has added to it;
 * any other value is replaced.
 */
function mergedWith(text: string, node: ConfigNode, value: JsonValue): JsonValue {
  if (node.kind !== 'object' || !isObject(value)) return value;
  return Object.assign({}, plain(text, node), value);
}

function sameJson(text: string, node: ConfigNode, value: JsonValue): boolean {
  return compact(plain(text, node)) === compact(value);
}

/**
 * The value of a JSON text that may have comments; undefined for a blank text. Throws a ScanProblem
 * for invalid JSON.
 */
export function jsonValue(text: string): JsonValue | undefined {
  const root = scanJson(text);
  return root === undefined ? undefined : plain(text, root);
}

function plain(text: string, node: ConfigNode): JsonValue {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries(node.members.map(({ key, value }) => [key, plain(text, value)]));
    case 'array':
      return node.items.map((item) => plain(text, item));
    case 'string':
      return node.value;
    case 'other':
      return JSON.parse(text.slice(node.from, node.to));
    default:
      return node satisfies never;
  }
}

function fileText(place: EntryPlace, value: string, style: JsonStyle): string {
  const { eol, unit } = style;
  const key = JSON.stringify(place.servers);
  return `{${eol}${unit}${key}: ${serversText(place, value, { ...style, indent: unit })}${eol}}${eol}`;
}

function newServers(place: EntryPlace, entry: JsonEntry, style: JsonStyle): string {
  const object = serversText(place, entryText(entry, style, ''), { ...style, indent: '' });
  return `${JSON.stringify(place.servers)}: ${object}`;
}

/**
 * Formats an entry for the object that lists the servers. `indent` is the indentation of that
 * object.
 */
function entryText(entry: JsonEntry, style: JsonStyle, indent: string): string {
  return pretty(entry, style, indent + style.unit);
}

/**
 * Formats the object that lists the servers, with one entry. `value` is the entry's formatted
 * value.
 */
function serversText(
  place: EntryPlace,
  value: string,
  style: JsonStyle & { readonly indent: string },
): string {
  const { eol, unit, indent } = style;
  return `{${eol}${indent}${unit}${JSON.stringify(place.name)}: ${value}${eol}${indent}}`;
}

/**
 * Puts our proxy before the command of an existing entry. Replaces a proxy of ours that is already
 * there.
 */
export function wrapJsonEntry(text: string, place: EntryPlace, prefix: Launch): EditedConfig {
  return withDocument(text, place, ({ servers }) => {
    const entry = servers === undefined ? undefined : memberOf(servers, place.name);
    if (entry === undefined) {
      const names = (servers?.members ?? []).map(({ key }) => key);
      return cannotEdit(
        `there is no server "${place.name}" under "${place.servers}"${similarServer(place.name, names)}`,
      );
    }
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

/** Removes our proxy from the entry `place.name`. Without a name, removes it from all entries. */
export function unwrapJsonEntries(
  text: string,
  place: Partial<EntryPlace> & { servers: string },
): EditedConfig {
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

/** The command of the entry `place.name`; undefined if the entry is missing or has no command. */
export function jsonCommand(text: string, place: EntryPlace): CommandNodes | undefined {
  const entry = entryOf(text, place);
  return entry === undefined ? undefined : jsonCommandOf(entry);
}

/**
 * The nodes of an entry's command: one array, or a string `command` with an optional array `args`.
 * Undefined for any other form.
 */
function jsonCommandOf(entry: MemberNode): CommandNodes | undefined {
  if (entry.value.kind !== 'object') return undefined;
  const command = memberOf(entry.value, 'command')?.value;
  const args = memberOf(entry.value, 'args')?.value;
  if (command?.kind === 'array' && command.items.length > 0) return { kind: 'list', list: command };
  if (command?.kind !== 'string' || (args !== undefined && args.kind !== 'array')) return undefined;
  return { kind: 'split', command, args, missing: { at: command.to, lead: ', "args": ' } };
}

/**
 * Environment variables of a server entry. `env`: those that the entry sets. `forwards`: those that
 * it only names, so that the client passes its own values to the server.
 */
export interface EntryEnvironment {
  readonly env: Readonly<Record<string, string>>;
  readonly forwards: readonly string[];
}

/** The environment variables that an entry sets under `env`, or in opencode under `environment`. */
export function jsonEnvironment(text: string, place: EntryPlace): EntryEnvironment {
  const entry = entryOf(text, place)?.value;
  const node =
    entry?.kind === 'object' ? (memberOf(entry, 'env') ?? memberOf(entry, 'environment'))?.value : undefined;
  return { env: node?.kind === 'object' ? stringMembers(node.members) : {}, forwards: [] };
}

/** The members whose values are strings, as an object. Omits all other members. */
export function stringMembers(
  members: readonly { readonly key: string; readonly value: ConfigNode }[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    members.flatMap(({ key, value }) => (value.kind === 'string' ? [[key, value.value]] : [])),
  );
}

/** The names of the servers that a file lists. `servers`: the key of that list. */
export function jsonNames(text: string, servers: string): readonly string[] {
  return serversOf(text, servers)?.members.map(({ key }) => key) ?? [];
}

function entryOf(text: string, place: EntryPlace): MemberNode | undefined {
  const servers = serversOf(text, place.servers);
  return servers === undefined ? undefined : memberOf(servers, place.name);
}

function serversOf(text: string, key: string): ObjectNode | undefined {
  const root = scanJson(text);
  const servers = root?.kind === 'object' ? memberOf(root, key)?.value : undefined;
  return servers?.kind === 'object' ? servers : undefined;
}
