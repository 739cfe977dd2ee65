import type { Splice } from './edit.ts';
import { type Launch, proxyWords, startsUs } from './launch.ts';
import { type ArrayNode, type ConfigNode, type StringNode, stringsOf } from './node.ts';

/**
 * The command in a server's entry of a client's configuration file. It is a string with an optional
 * list of arguments, or one list of the program and its arguments.
 */
export type CommandNodes =
  | {
      readonly kind: 'split';
      readonly command: StringNode;
      readonly args: ArrayNode | undefined;
      /**
       * If there is no list of arguments: the position to insert one, and the text to put before
       * it.
       */
      readonly missing: { readonly at: number; readonly lead: string };
    }
  | { readonly kind: 'list'; readonly list: ArrayNode };

/**
 * The words of a command line. Undefined if there is no command line, or if one of its words is not
 * a string.
 */
export function wordsOf(nodes: CommandNodes | undefined): readonly string[] | undefined {
  if (nodes === undefined) return undefined;
  if (nodes.kind === 'list') return stringsOf(nodes.list)?.map(({ value }) => value);
  const args = nodes.args === undefined ? [] : stringsOf(nodes.args);
  return args === undefined ? undefined : [nodes.command.value, ...args.map(({ value }) => value)];
}

/** True if a server's entry starts our own server, which needs no proxy. */
export function isOurs(nodes: CommandNodes): boolean {
  const words = wordsOf(nodes);
  return words !== undefined && proxyWords(words) === 0 && startsUs(words);
}

/**
 * Puts the command `prefix` before the command of a server in a client's configuration file. The old
 * command moves unchanged into the arguments of `prefix`. The added text ends right before the old
 * command, so that `unwrapCommand` can restore the former text.
 */
export function wrapCommand(
  text: string,
  nodes: CommandNodes,
  prefix: Launch,
  quote: (text: string) => string,
): Splice[] {
  const words = prefix.args.map(quote);
  if (nodes.kind === 'list') return [behindBracket(nodes.list, [quote(prefix.command), ...words])];
  const { command, args, missing } = nodes;
  const moved = [...words, text.slice(command.from, command.to)];
  const renamed = { from: command.from, to: command.to, put: quote(prefix.command) };
  if (args !== undefined) return [renamed, behindBracket(args, moved)];
  // Spaces inside the brackets mark a list that we created, so that unwrapping removes the whole list again.
  return [renamed, { from: missing.at, to: missing.at, put: `${missing.lead}[ ${moved.join(', ')} ]` }];
}

/**
 * Removes our proxy from an entry's command; undefined if the command does not start with the
 * proxy.
 */
export function unwrapCommand(text: string, nodes: CommandNodes): Splice[] | undefined {
  if (nodes.kind === 'list') {
    const items = stringsOf(nodes.list);
    const next = items?.[proxyWords(items.map(({ value }) => value))];
    if (items === undefined || next === undefined || next === items[0]) return undefined;
    return [{ from: nodes.list.from + 1, to: commaBefore(text, items, next), put: '' }];
  }
  const { command, args, missing } = nodes;
  const items = args === undefined ? undefined : stringsOf(args);
  if (args === undefined || items === undefined) return undefined;
  const count = proxyWords([command.value, ...items.map(({ value }) => value)]);
  const own = items[count - 1];
  if (count === 0 || own === undefined) return undefined;
  const renamed = { from: command.from, to: command.to, put: text.slice(own.from, own.to) };
  const next = items[count];
  if (next === undefined && wasMissing(text, args, missing))
    return [renamed, { from: missing.at, to: args.to, put: '' }];
  const to = next === undefined ? own.to : commaBefore(text, items, next);
  return [renamed, { from: args.from + 1, to, put: '' }];
}

function behindBracket(list: ArrayNode, words: readonly string[]): Splice {
  const comma = list.items.length > 0 ? ',' : '';
  return { from: list.from + 1, to: list.from + 1, put: `${words.join(', ')}${comma}` };
}

/** The position after the comma that precedes an item. */
function commaBefore(text: string, items: readonly ConfigNode[], item: ConfigNode): number {
  const previous = items[items.indexOf(item) - 1];
  return text.indexOf(',', previous?.to ?? item.from) + 1;
}

function wasMissing(text: string, args: ArrayNode, missing: { at: number; lead: string }): boolean {
  const spaced = text.startsWith('[ ', args.from) && text.endsWith(' ]', args.to);
  return spaced && text.slice(missing.at, args.from) === missing.lead;
}
