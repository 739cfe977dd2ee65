import { callsFile } from './claude-call.ts';
import { keyAt, type NameKey } from './name-table.ts';
import type { LinkKind } from './record-chain.ts';

/** What a line is, as far as its first bytes tell: to be parsed, no record of a conversation, or one that shows no file. */
export type Skimmed = 'read' | 'nameless' | LinkedLine;

/** A line of which only the place in the conversation counts, unless a call waits for it. */
export interface LinkedLine {
  readonly parent: NameKey | null;
  readonly side: boolean;
  readonly link: LinkKind;
  /** The call it is the result of. */
  readonly result: string | undefined;
  /** It is a message of the model that calls a tool for files. */
  readonly calls: boolean;
  /** Where the rest of the line begins. */
  readonly rest: number;
}

/** As much of a line after the parent's name as holds all that comes before the first content. */
const HEAD_BYTES = 224;
const UUID_LENGTH = 36;
const PARENT = Buffer.from('{"parentUuid":');
const QUOTE = 34;
const NULL_LENGTH = 'null'.length;
const MAIN = ',"isSidechain":false,';
const SIDE = ',"isSidechain":true,';
const OPTIONAL = ['"promptId":"', '"agentId":"'];
const ATTACHMENT = '"attachment":{"type":"';
const MESSAGE = '"message":{';
const USER = '"type":"user","message":{"role":"user","content":[{"tool_use_id":"';
const RESULT = ',"type":"tool_result",';
const TYPE = Buffer.from('{"type":"');
const NAMELESS = /^\{"type":"([\w-]+)"/;
const NAMELESS_BYTES = 48;
/** Types of records that may have a name although they begin with their type. */
const NAMED = new Set(['user', 'assistant', 'system', 'attachment', 'progress', 'content-replacement']);
const INITIALS = new Set([...NAMED].map((type) => Buffer.from(type).readUInt16BE()));

/**
 * Looks at the beginning of a line, and in a message of the model for calls. Records begin with the same keys in the
 * same order; a line that does not is parsed.
 */
export function skimClaude(bytes: Buffer, start: number, end: number): Skimmed {
  if (!startsWith(bytes, PARENT, start)) return withoutParent(bytes, start, end);
  const value = start + PARENT.length;
  const parented = bytes[value] === QUOTE;
  const parent = parented ? keyAt(bytes, value + 1) : null;
  const from = value + (parented ? UUID_LENGTH + 2 : NULL_LENGTH);
  const head = bytes.toString('latin1', from, Math.min(end, from + HEAD_BYTES));
  const side = head.startsWith(SIDE);
  if (!side && !head.startsWith(MAIN)) return 'read';
  const body = pastOptional(head, side ? SIDE.length : MAIN.length);
  if (head.startsWith(USER, body)) {
    const id = body + USER.length;
    const closed = head.indexOf('"', id);
    if (closed === -1 || !head.startsWith(RESULT, closed + 1)) return 'read';
    const rest = from + closed + 1 + RESULT.length;
    return { parent, side, link: 'result', result: head.slice(id, closed), calls: false, rest };
  }
  const link = linkOf(head, body);
  const rest = from + body;
  if (link === undefined) return 'read';
  return {
    parent,
    side,
    link,
    result: undefined,
    calls: link === 'message' && callsFile(bytes, rest, end),
    rest,
  };
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array, start: number): boolean {
  for (let at = 0; at < prefix.length; at += 1) if (bytes[start + at] !== prefix[at]) return false;
  return true;
}

/** Attachments that are no file, and messages of the model. */
function linkOf(head: string, at: number): LinkKind | undefined {
  if (head.startsWith(MESSAGE, at)) return 'message';
  if (!head.startsWith(ATTACHMENT, at)) return undefined;
  return head.startsWith('file"', at + ATTACHMENT.length) ? undefined : 'aside';
}

function pastOptional(head: string, start: number): number {
  let at = start;
  for (const key of OPTIONAL) {
    if (!head.startsWith(key, at)) continue;
    const end = head.indexOf('",', at + key.length);
    if (end !== -1) at = end + 2;
  }
  return at;
}

function withoutParent(bytes: Buffer, start: number, end: number): Skimmed {
  // Most of these lines are not even looked at: their type does not begin like one that matters.
  if (startsWith(bytes, TYPE, start) && !INITIALS.has(bytes.readUInt16BE(start + TYPE.length)))
    return 'nameless';
  const head = bytes.toString('latin1', start, Math.min(end, start + NAMELESS_BYTES));
  const type = NAMELESS.exec(head)?.[1];
  return type === undefined || NAMED.has(type) ? 'read' : 'nameless';
}

const SECOND = Buffer.from('"tool_use_id":');

/** Is there another result in the rest of a line? */
export function holdsMoreResults(bytes: Buffer, rest: number, end: number): boolean {
  return bytes.subarray(rest, end).includes(SECOND);
}
