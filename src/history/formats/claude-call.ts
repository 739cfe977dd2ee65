import { isRecord } from '../../model/record.ts';
import { type JsonRecord, parseJson } from '../json-value.ts';
import { toolKind } from '../tool-kind.ts';
import { endOfWord, oneStanding, standsAt } from './byte-match.ts';
import type { CallEnd } from './claude-call-end.ts';
import { plainCall } from './claude-plain-call.ts';
import { keyAt, type NameKey } from './name-table.ts';

const FIRST_BYTES = 512;
const BRACKET = 91;
const CONTENT = Buffer.from('"content":[');
const BLOCK = Buffer.from('{"type":"');
const CALL = Buffer.from('{"type":"tool_use","id":"');
const NAME = Buffer.from('","name":"');
/** The commonest tools that always may show a file, and the one that may with some commands. */
const SHOWING = ['Read"', 'Edit"'].map((tool) => Buffer.from(tool));
const SHELL = Buffer.from('Bash","input":{"command":"');
const COMMAND = Buffer.from('","input":{"command":"');
const READERS = ['cat', 'sed', 'head', 'tail'].map((word) => Buffer.from(word));

/** What tools a message of the model calls: one that may show a file, only others, or none. */
export type CalledTools = 'file' | 'other' | 'none';

/**
 * Looks for calls in the content of a message of the model; see `contentOf`. Today's host writes every block as a record of its own, so the first block
 * tells; but another call in the same record is looked for. Of commands only those may show a file that begin as such.
 */
export function calledTools(bytes: Buffer, content: number, end: number): CalledTools {
  if (content === -1) return 'file';
  const block = content + CONTENT.length;
  const calls = standsAt(bytes, CALL, block);
  if (calls && mayShow(bytes, block + CALL.length)) return 'file';
  if (bytes.subarray(block + BLOCK.length, end).includes(CALL)) return 'file';
  return calls ? 'other' : 'none';
}

/** Where the content of a message begins; -1 if it is not where it should be. */
export function contentOf(bytes: Buffer, start: number, end: number): number {
  const last = Math.min(end, start + FIRST_BYTES);
  let at = start;
  while (at < last && bytes[at] !== BRACKET) at += 1;
  const content = at + 1 - CONTENT.length;
  return at < last && standsAt(bytes, CONTENT, content) && standsAt(bytes, BLOCK, at + 1) ? content : -1;
}

function mayShow(bytes: Buffer, id: number): boolean {
  const named = endOfWord(bytes, id);
  if (named === -1 || !standsAt(bytes, NAME, named)) return true;
  const name = named + NAME.length;
  if (oneStanding(bytes, SHOWING, name) !== undefined) return true;
  if (standsAt(bytes, SHELL, name)) return reads(bytes, name + SHELL.length);
  const end = endOfWord(bytes, name);
  const kind = end === -1 ? 'read' : toolKind(bytes.toString('latin1', name, end));
  if (kind !== 'shell' || !standsAt(bytes, COMMAND, end)) return kind !== undefined;
  return reads(bytes, end + COMMAND.length);
}

function reads(bytes: Buffer, command: number): boolean {
  return oneStanding(bytes, READERS, command) !== undefined;
}

/** A message of the model, as far as it matters. */
export interface SkimmedCalls {
  readonly key: NameKey;
  readonly blocks: readonly JsonRecord[];
  readonly cwd: string | undefined;
}

const CONTENT_END = Buffer.from('],"stop_reason":');

/**
 * The blocks of a message of the model, its name and working directory; the rest of the line, which is most of it, is
 * what the answer cost. Undefined if the line is not exactly as expected: then it is parsed.
 */
export function skimCalls(
  bytes: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
  ending: CallEnd,
): SkimmedCalls | undefined {
  const plain = standsAt(bytes, CONTENT, start) ? plainCall(bytes, start + CONTENT.length, end) : undefined;
  if (plain === undefined) return parsedCalls(bytes.subarray(start, end), ending);
  const uuid = ending.nameIn(bytes, plain.end, end);
  return uuid === -1 ? undefined : { key: keyAt(bytes, uuid), blocks: [plain.block], cwd: ending.cwd };
}

/** The same with the blocks parsed. */
function parsedCalls(line: Buffer, ending: CallEnd): SkimmedCalls | undefined {
  const content = line.indexOf(CONTENT);
  const closed = content === -1 ? -1 : line.indexOf(CONTENT_END, content);
  const uuid = closed === -1 ? -1 : ending.nameIn(line, closed, line.length);
  if (uuid === -1) return undefined;
  const blocks = parseJson(line.toString('utf8', content + CONTENT.length - 1, closed + 1));
  if (!Array.isArray(blocks)) return undefined;
  return { key: keyAt(line, uuid), blocks: blocks.filter(isRecord), cwd: ending.cwd };
}
