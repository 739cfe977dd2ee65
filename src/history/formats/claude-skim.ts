import { keyAt, type NameKey } from './name-table.ts';
import type { LinkKind } from './record-chain.ts';

/** A line that may be skipped: a record without a name, or one of which only the place in the conversation counts. */
export type SkippedLine = 'nameless' | LinkedLine;

interface LinkedLine {
  readonly parent: NameKey | null;
  readonly key: NameKey;
  readonly side: boolean;
  readonly kind: LinkKind;
  /** The call that a result belongs to. The line must be parsed if that call waits for it or has shown something. */
  readonly callId?: string;
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
/** Records that have a parent begin so, with plain strings before their type or their message. */
const HEAD = new RegExp(
  `^\\{"parentUuid":(?:null|"(${UUID})"),"isSidechain":(true|false),` +
    '(?:"(?:userType|cwd|sessionId|version|gitBranch|agentId|slug|entrypoint|promptId)":"[^"\\\\{]*",)*' +
    '(?:"type":"(progress)",|"type":"(user)","message":\\{"role":"user","content":\\[\\{|"(message)":\\{|"(attachment)":\\{"type":"(?!file"))',
);
/** A result names its call before its content, in either order of the two keys. */
const RESULT =
  /^(?:"tool_use_id":"([\w-]{1,100})","type":"tool_result"|"type":"tool_result","tool_use_id":"([\w-]{1,100})"),/;
/** The name near the end of a record, with nothing but plain values behind it. */
const TAIL = new RegExp(
  `,(?:"type":"(assistant|attachment)",)?(?:"timestamp":"[^"\\\\]*",)?"uuid":"(${UUID})"` +
    '(?:,"\\w+":(?:"(?:[^"\\\\]|\\\\.)*"|-?[\\d.]+|true|false|null))*\\}\\s*$',
);
/** The name of a result stands right behind its message. */
const MESSAGE_END = Buffer.from(']},"uuid":"');
const NAME_AND_TIME = new RegExp(`^(${UUID})","timestamp":"`);
const NAME_AND_TIME_BYTES = 64;
const TYPED = /^\{"type":"([\w-]{1,40})",/;
/** Types of records that matter although they begin with their type. */
const NAMED = new Set(['user', 'assistant', 'system', 'attachment', 'progress', 'content-replacement']);
const HEAD_BYTES = 1024;
const TAIL_BYTES = 1024;
const NAME = Buffer.from('"uuid":"');
const RESULT_ID = Buffer.from('"tool_use_id":');
const CALLS = [Buffer.from('"type":"tool_use"'), Buffer.from('"type":"mcp_tool_use"'), RESULT_ID];
const SUMMARY = Buffer.from('"isCompactSummary":');

/**
 * Decides by a line's first and last bytes whether it may be skipped. Undefined: it must be parsed, as must everything
 * that does not look exactly as expected. The bytes between are searched only for keys that would make them matter.
 */
export function skimClaude(bytes: Buffer, start: number, end: number): SkippedLine | undefined {
  const head = bytes.toString('latin1', start, Math.min(end, start + HEAD_BYTES));
  const match = HEAD.exec(head);
  if (match === null) return withoutParent(bytes, start, end, head);
  const [{ length }, parent, side, isProgress, isUser] = match;
  const begun = { parent: parent === undefined ? null : keyOfUuid(parent), side: side === 'true' };
  const rest = bytes.subarray(start + length, end);
  if (isProgress === undefined && rest.includes(SUMMARY)) return undefined;
  if (isUser !== undefined) return resultLine(begun, head.slice(length), rest);
  const tail = TAIL.exec(bytes.toString('latin1', Math.max(start + length, end - TAIL_BYTES), end));
  if (tail === null) return undefined;
  const line = { ...begun, key: keyOfUuid(tail[2] ?? '') };
  if (isProgress !== undefined) return { ...line, kind: 'aside' };
  const [, , , , , isMessage] = match;
  if (isMessage === undefined) return tail[1] === 'attachment' ? { ...line, kind: 'aside' } : undefined;
  const isPlain = tail[1] === 'assistant' && !CALLS.some((call) => rest.includes(call));
  return isPlain ? { ...line, kind: 'message' } : undefined;
}

/** A line with exactly one result. */
function resultLine(
  begun: Pick<LinkedLine, 'parent' | 'side'>,
  text: string,
  rest: Buffer,
): LinkedLine | undefined {
  const result = RESULT.exec(text);
  const callId = result?.[1] ?? result?.[2];
  if (result === null || callId === undefined || rest.includes(RESULT_ID, result[0].length)) return undefined;
  const name = rest.indexOf(MESSAGE_END) + MESSAGE_END.length;
  const named = NAME_AND_TIME.exec(rest.toString('latin1', name, name + NAME_AND_TIME_BYTES))?.[1];
  return named === undefined ? undefined : { ...begun, key: keyOfUuid(named), kind: 'result', callId };
}

function withoutParent(bytes: Buffer, start: number, end: number, head: string): 'nameless' | undefined {
  const type = TYPED.exec(head)?.[1];
  if (type === undefined || NAMED.has(type)) return undefined;
  return bytes.subarray(start, end).includes(NAME) ? undefined : 'nameless';
}

function keyOfUuid(uuid: string): NameKey {
  return keyAt(Buffer.from(uuid, 'latin1'), 0);
}
