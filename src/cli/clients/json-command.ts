import { scanJson } from './json-scan.ts';
import { type MemberNode, memberOf } from './node.ts';
import type { CommandNodes } from './wrap.ts';

/** The command of the entry of that name, if it is there and has one. */
export function jsonCommand(
  text: string,
  place: { readonly servers: string; readonly name: string },
): CommandNodes | undefined {
  const root = scanJson(text);
  const servers = root?.kind === 'object' ? memberOf(root, place.servers)?.value : undefined;
  const entry = servers?.kind === 'object' ? memberOf(servers, place.name) : undefined;
  return entry === undefined ? undefined : jsonCommandOf(entry);
}

/** The command of an entry in a JSON file; undefined if it has none, or none that can be told. */
export function jsonCommandOf(entry: MemberNode): CommandNodes | undefined {
  if (entry.value.kind !== 'object') return undefined;
  const command = memberOf(entry.value, 'command')?.value;
  const args = memberOf(entry.value, 'args')?.value;
  if (command?.kind === 'array' && command.items.length > 0) return { kind: 'list', list: command };
  if (command?.kind !== 'string' || (args !== undefined && args.kind !== 'array')) return undefined;
  return { kind: 'split', command, args, missing: { at: command.to, lead: ', "args": ' } };
}
