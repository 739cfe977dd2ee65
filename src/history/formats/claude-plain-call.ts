import type { JsonRecord } from '../json-value.ts';
import { endOfString, endOfWord, oneStanding, standsAt } from './byte-match.ts';
import { isDigit } from './byte-number.ts';

const CALL = Buffer.from('{"type":"tool_use","id":"');
const COMMA = 44;
const END = Buffer.from('}}],"stop_reason":');
const SPACE = 32;
const QUOTE = 34;
const BACKSLASH = 92;
const LETTER_A = 97;
const LETTER_Z = 122;

/** A call whose first argument tells all that matters. */
interface PlainTool {
  readonly name: string;
  readonly input: (first: string) => JsonRecord;
  /** From the id's end to the first argument. */
  readonly begin: Buffer;
  /** Arguments that may follow, as they stand before their values. */
  readonly others: readonly Buffer[];
}

const TOOLS: readonly PlainTool[] = [
  {
    name: 'Read',
    begin: Buffer.from('","name":"Read","input":{"file_path":"'),
    input: (path) => ({ file_path: path }),
    others: [],
  },
  {
    name: 'Edit',
    begin: Buffer.from('","name":"Edit","input":{"file_path":"'),
    input: (path) => ({ file_path: path }),
    others: [',"old_string":', ',"new_string":', ',"replace_all":'].map((key) => Buffer.from(key)),
  },
  {
    name: 'Bash',
    begin: Buffer.from('","name":"Bash","input":{"command":"'),
    input: (command) => ({ command }),
    others: [',"description":', ',"timeout":'].map((key) => Buffer.from(key)),
  },
];

/** The only block of a message, and where it ends. */
export interface PlainCall {
  readonly block: JsonRecord;
  readonly end: number;
}

/**
 * The commonest calls of all, without the arguments that say nothing of what they show: parsing one takes longer than
 * all else does. Undefined if the only block of a message is not exactly such a call.
 */
export function plainCall(bytes: Buffer, start: number, lineEnd: number): PlainCall | undefined {
  if (!standsAt(bytes, CALL, start)) return undefined;
  const idEnd = endOfWord(bytes, start + CALL.length);
  const tool = idEnd === -1 ? undefined : toolAt(bytes, idEnd);
  if (tool === undefined) return undefined;
  const value = idEnd + tool.begin.length;
  const valueEnd = endOfPlain(bytes, value, lineEnd);
  const end = valueEnd === -1 ? -1 : pastOthers(bytes, { start: valueEnd + 1, end: lineEnd }, tool.others);
  // No newline stands in any of these, so what stands there stands in the line.
  if (end === -1 || !standsAt(bytes, END, end)) return undefined;
  const id = bytes.toString('utf8', start + CALL.length, idEnd);
  if (id.includes('\\')) return undefined;
  const input = tool.input(bytes.toString('utf8', value, valueEnd));
  return { block: { type: 'tool_use', id, name: tool.name, input }, end };
}

function toolAt(bytes: Buffer, at: number): PlainTool | undefined {
  for (const tool of TOOLS) if (standsAt(bytes, tool.begin, at)) return tool;
  return undefined;
}

/** Where a string that is written as it is ends; -1 if anything in it is escaped, or should be. */
function endOfPlain(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH || byte < SPACE) return -1;
  }
  return -1;
}

/** Where the arguments end that follow the first one; -1 if there are others than expected. */
function pastOthers(
  bytes: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
  others: readonly Buffer[],
): number {
  let at = start;
  while (bytes[at] === COMMA) {
    const key = oneStanding(bytes, others, at);
    if (key === undefined) return -1;
    at = endOfValue(bytes, at + key.length, end);
    if (at === -1) return -1;
  }
  return at;
}

/** Where a string or a word such as a number ends. */
function endOfValue(bytes: Buffer, start: number, end: number): number {
  if (bytes[start] === QUOTE) {
    const closed = endOfString(bytes, start + 1, end);
    return closed === -1 ? -1 : closed + 1;
  }
  let at = start;
  while (at < end && isLetterOrDigit(bytes[at] ?? 0)) at += 1;
  return at;
}

function isLetterOrDigit(byte: number): boolean {
  return isDigit(byte) || (byte >= LETTER_A && byte <= LETTER_Z);
}
