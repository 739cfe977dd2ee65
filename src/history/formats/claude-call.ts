import { isObject, type JsonObject, parseJson } from '../json-value.ts';
import { toolKind } from '../tool-kind.ts';
import { endOfWord, standsAt } from './byte-match.ts';
import { keyAt, type NameKey } from './name-table.ts';

const FIRST_BYTES = 512;
const BRACKET = 91;
const CONTENT = Buffer.from('"content":[');
const BLOCK = Buffer.from('{"type":"');
const CALL = Buffer.from('{"type":"tool_use","id":"');
const NAME = Buffer.from('","name":"');
const COMMAND = Buffer.from('","input":{"command":"');
const READERS = ['cat', 'sed', 'head', 'tail'].map((word) => Buffer.from(word));

/** What tools a message of the model calls: one that may show a file, only others, or none. */
export type CalledTools = 'file' | 'other' | 'none';

/**
 * Looks for calls in a message of the model. Today's host writes every block as a record of its own, so the first block
 * tells; but another call in the same record is looked for. Of commands only those may show a file that begin as such.
 */
export function calledTools(bytes: Buffer, start: number, end: number): CalledTools {
  const block = firstBlock(bytes, start, Math.min(end, start + FIRST_BYTES));
  if (block === -1) return 'file';
  const calls = standsAt(bytes, CALL, block);
  if (calls && mayShow(bytes, block + CALL.length)) return 'file';
  if (bytes.subarray(block + BLOCK.length, end).includes(CALL)) return 'file';
  return calls ? 'other' : 'none';
}

/** Where the first block of a message begins; -1 if it is not where it should be. */
function firstBlock(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== BRACKET) at += 1;
  if (at >= end || !standsAt(bytes, CONTENT, at + 1 - CONTENT.length)) return -1;
  return standsAt(bytes, BLOCK, at + 1) ? at + 1 : -1;
}

function mayShow(bytes: Buffer, id: number): boolean {
  const named = endOfWord(bytes, id);
  if (named === -1 || !standsAt(bytes, NAME, named)) return true;
  const name = named + NAME.length;
  const end = endOfWord(bytes, name);
  const kind = end === -1 ? 'read' : toolKind(bytes.toString('latin1', name, end));
  if (kind !== 'shell' || !standsAt(bytes, COMMAND, end)) return kind !== undefined;
  return READERS.some((word) => standsAt(bytes, word, end + COMMAND.length));
}

/** A message of the model, as far as it matters. */
export interface SkimmedCalls {
  readonly key: NameKey;
  readonly blocks: readonly JsonObject[];
  readonly cwd: string | undefined;
}

const CONTENT_END = Buffer.from('],"stop_reason":');
const UUID = Buffer.from('"type":"assistant","uuid":"');
const UUID_LENGTH = 36;
const TIME = Buffer.from('","timestamp":"');
const CWD = Buffer.from(',"cwd":"');
const CWD_TEXT = /^"(?:[^"\\]|\\.)*"/;
const QUOTE = 34;
const BACKSLASH = 92;

/**
 * The blocks of a message of the model, its name and working directory; the rest of the line, which is most of it, is
 * what the answer cost. Undefined if the line is not exactly as expected: then it is parsed.
 */
export function skimCalls(line: Buffer): SkimmedCalls | undefined {
  const content = line.indexOf(CONTENT);
  const read = content === -1 ? undefined : plainRead(line, content + CONTENT.length);
  const closed = content === -1 ? -1 : (read?.end ?? line.indexOf(CONTENT_END, content));
  const named = closed === -1 ? -1 : line.indexOf(UUID, closed);
  const uuid = named + UUID.length;
  if (named === -1 || !standsAt(line, TIME, uuid + UUID_LENGTH)) return undefined;
  const blocks = read?.blocks ?? parseJson(line.toString('utf8', content + CONTENT.length - 1, closed + 1));
  if (!Array.isArray(blocks)) return undefined;
  return { key: keyAt(line, uuid), blocks: blocks.filter(isObject), cwd: directoryIn(line, uuid) };
}

const READ = Buffer.from('","name":"Read","input":{"file_path":"');
const READ_END = Buffer.from('"}}');

/** The commonest call of all, a read that names a file and nothing else: parsing it takes longer than all else does. */
function plainRead(
  line: Buffer,
  start: number,
): { readonly blocks: readonly JsonObject[]; readonly end: number } | undefined {
  if (!standsAt(line, CALL, start)) return undefined;
  const idEnd = endOfWord(line, start + CALL.length);
  if (idEnd === -1 || !standsAt(line, READ, idEnd)) return undefined;
  const pathEnd = line.indexOf(QUOTE, idEnd + READ.length);
  const end = pathEnd + READ_END.length;
  if (pathEnd === -1 || !standsAt(line, READ_END, pathEnd) || !standsAt(line, CONTENT_END, end))
    return undefined;
  const id = line.toString('utf8', start + CALL.length, idEnd);
  const path = line.toString('utf8', idEnd + READ.length, pathEnd);
  if (id.includes('\\') || path.includes('\\')) return undefined;
  return { blocks: [{ type: 'tool_use', id, name: 'Read', input: { file_path: path } }], end };
}

function directoryIn(line: Buffer, from: number): string | undefined {
  const at = line.indexOf(CWD, from);
  if (at === -1) return undefined;
  const start = at + CWD.length;
  const end = line.indexOf(QUOTE, start);
  const escaped = line.indexOf(BACKSLASH, start);
  if (end !== -1 && (escaped === -1 || escaped > end)) return line.toString('utf8', start, end);
  const text = CWD_TEXT.exec(line.toString('utf8', start - 1))?.[0];
  const cwd = text === undefined ? undefined : parseJson(text);
  return typeof cwd === 'string' ? cwd : undefined;
}
