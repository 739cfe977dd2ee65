import { endOfWord, standsAt } from './byte-match.ts';
import { type CalledTools, calledTools, contentOf } from './claude-call.ts';
import { keyAt, type NameKey } from './name-table.ts';
import type { LinkKind } from './record-chain.ts';

/** What a line is, as far as its first bytes tell: to be parsed, no record of a conversation, or one that shows no file. */
export type Skimmed = 'read' | 'nameless' | LinkedLine;

/** A line of which only the place in the conversation counts, unless a call waits for it. */
export interface LinkedLine {
  readonly parent: NameKey | null;
  readonly side: boolean;
  readonly link: LinkKind;
  /** For a result: where the id of its call begins and ends. */
  readonly result: { readonly start: number; readonly end: number } | undefined;
  /** For a message of the model. */
  readonly calls: CalledTools;
  /** Where the rest of the line begins. */
  readonly rest: number;
}

const UUID_LENGTH = 36;
const PARENT = Buffer.from('{"parentUuid":');
const QUOTE = 34;
const NULL_LENGTH = 'null'.length;
const MAIN = Buffer.from(',"isSidechain":false,');
const SIDE = Buffer.from(',"isSidechain":true,');
const OPTIONAL = ['"promptId":"', '"agentId":"'].map((key) => Buffer.from(key));
const ATTACHMENT = Buffer.from('"attachment":{"type":"');
const ATTACHED_FILE = Buffer.from('file"');
const MESSAGE = Buffer.from('"message":{');
const USER = Buffer.from('"type":"user","message":{"role":"user","content":[{"tool_use_id":"');
const RESULT = Buffer.from('","type":"tool_result",');
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
  if (!standsAt(bytes, PARENT, start)) return withoutParent(bytes, start, end);
  const value = start + PARENT.length;
  const parented = bytes[value] === QUOTE;
  const parent = parented ? keyAt(bytes, value + 1) : null;
  const from = value + (parented ? UUID_LENGTH + 2 : NULL_LENGTH);
  const side = standsAt(bytes, SIDE, from);
  if (!side && !standsAt(bytes, MAIN, from)) return 'read';
  const body = pastOptional(bytes, from + (side ? SIDE.length : MAIN.length));
  if (body >= end) return 'read';
  if (standsAt(bytes, USER, body)) {
    const id = body + USER.length;
    const closed = endOfWord(bytes, id);
    const rest = closed + RESULT.length;
    if (closed === -1 || !standsAt(bytes, RESULT, closed) || rest >= end) return 'read';
    return { parent, side, link: 'result', result: { start: id, end: closed }, calls: 'none', rest };
  }
  const link = linkAt(bytes, body);
  if (link === undefined) return 'read';
  if (link === 'aside') return { parent, side, link, result: undefined, calls: 'none', rest: body };
  const content = contentOf(bytes, body, end);
  const calls = calledTools(bytes, content, end);
  return { parent, side, link, result: undefined, calls, rest: content === -1 ? body : content };
}

/** Attachments that are no file, and messages of the model. */
function linkAt(bytes: Buffer, at: number): LinkKind | undefined {
  if (standsAt(bytes, MESSAGE, at)) return 'message';
  if (!standsAt(bytes, ATTACHMENT, at)) return undefined;
  return standsAt(bytes, ATTACHED_FILE, at + ATTACHMENT.length) ? undefined : 'aside';
}

function pastOptional(bytes: Buffer, start: number): number {
  let at = start;
  for (const key of OPTIONAL) {
    if (!standsAt(bytes, key, at)) continue;
    const end = endOfWord(bytes, at + key.length);
    if (end !== -1) at = end + 2;
  }
  return at;
}

function withoutParent(bytes: Buffer, start: number, end: number): Skimmed {
  // Most of these lines are not even looked at: their type does not begin like one that matters.
  if (end - start > NAMELESS_BYTES && standsAt(bytes, TYPE, start)) {
    if (!INITIALS.has(bytes.readUInt16BE(start + TYPE.length))) return 'nameless';
  }
  const head = bytes.toString('latin1', start, Math.min(end, start + NAMELESS_BYTES));
  const type = NAMELESS.exec(head)?.[1];
  return type === undefined || NAMED.has(type) ? 'read' : 'nameless';
}

const SECOND = Buffer.from('"tool_use_id":');

/** Is there another result in the rest of a line? */
export function holdsMoreResults(bytes: Buffer, rest: number, end: number): boolean {
  return bytes.subarray(rest, end).includes(SECOND);
}
