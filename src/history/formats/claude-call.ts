import { isObject, type JsonObject, parseJson } from '../json-value.ts';
import { toolKind } from '../tool-kind.ts';

const FIRST =
  /"content":\[\{"type":"(\w+)"(?:,"id":"[\w-]+","name":"(\w+)"(?:,"input":\{"command":"(\w*))?)?/;
const FIRST_BYTES = 512;

/**
 * Does a message of the model call a tool that may show a file? The host writes every block of a message as a record of
 * its own, so the first block tells. Of commands only those may that begin as such.
 */
export function callsFile(bytes: Buffer, start: number, end: number): boolean {
  const [, type, name, command] =
    FIRST.exec(bytes.toString('latin1', start, Math.min(end, start + FIRST_BYTES))) ?? [];
  if (type !== undefined && type !== 'tool_use') return false;
  const kind = name === undefined ? 'read' : toolKind(name);
  if (kind !== 'shell' || command === undefined) return kind !== undefined;
  return /^(?:cat|sed|head|tail)$/.test(command);
}

/** A message of the model, as far as it matters. */
export interface SkimmedCalls {
  readonly blocks: readonly JsonObject[];
  readonly uuid: string;
  readonly timestamp: string;
  readonly cwd: string | undefined;
}

const CONTENT = Buffer.from('"content":[');
const CONTENT_END = Buffer.from('],"stop_reason":');
const NAME = Buffer.from('"type":"assistant","uuid":"');
const TAIL = /^"type":"assistant","uuid":"([0-9a-f-]{36})","timestamp":"([0-9TZ:.-]{20,32})"/;
const CWD = /,"cwd":("(?:[^"\\]|\\.)*")/;

/**
 * The blocks of a message of the model, its name, time and working directory; the rest of the line, which is most of
 * it, is what the answer cost. Undefined if the line is not exactly as expected: then it is parsed.
 */
export function skimCalls(bytes: Buffer, start: number, end: number): SkimmedCalls | undefined {
  const content = bytes.indexOf(CONTENT, start);
  const closed = content === -1 ? -1 : bytes.indexOf(CONTENT_END, content);
  const named = closed === -1 ? -1 : bytes.indexOf(NAME, closed);
  if (named === -1 || named >= end) return undefined;
  const tail = bytes.toString('utf8', named, end);
  const [, uuid, timestamp] = TAIL.exec(tail) ?? [];
  const blocks = parseJson(bytes.toString('utf8', content + CONTENT.length - 1, closed + 1));
  if (uuid === undefined || timestamp === undefined || !Array.isArray(blocks)) return undefined;
  const cwd = parseJson(CWD.exec(tail)?.[1] ?? '');
  return {
    blocks: blocks.filter(isObject),
    uuid,
    timestamp,
    cwd: typeof cwd === 'string' ? cwd : undefined,
  };
}
