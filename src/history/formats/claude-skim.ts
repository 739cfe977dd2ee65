import type { LinkKind } from './record-chain.ts';

/** What a line is, as far as its first bytes tell. */
export type Skimmed =
  /** Must be parsed. */
  | { readonly kind: 'read' }
  /** No record of a conversation. */
  | { readonly kind: 'nameless' }
  /** Shows no file; only its place in the conversation counts. */
  | {
      readonly kind: 'linked';
      readonly parent: string | undefined;
      readonly side: boolean;
      readonly link: LinkKind;
      /** The call it is the result of: it matters if that call waits. */
      readonly result: string | undefined;
      /** Where the rest of the line begins, which may hold more results. */
      readonly rest: number;
    };

/** Records begin with these keys in this order; a line that does not is parsed. */
const HEAD =
  /^\{"parentUuid":(?:null|"([0-9a-f-]{36})"),"isSidechain":(?:(true)|false),(?:"(?:promptId|agentId)":"[\w-]*",)*(?:"attachment":\{"type":"(\w+)"|"(message)":\{|"type":"user","message":\{"role":"user","content":\[\{"tool_use_id":"([\w-]+)","type":"tool_result",)/;
const HEAD_BYTES = 400;
const NAMELESS = /^\{"type":"([\w-]+)"/;
/** Types of records that may have a name although they begin with their type. */
const NAMED = new Set(['user', 'assistant', 'system', 'attachment', 'progress', 'content-replacement']);
const CALL = Buffer.from('"type":"tool_use"');
const RESULT = Buffer.from('"tool_use_id":');
const READ: Skimmed = { kind: 'read' };
const SKIPPED: Skimmed = { kind: 'nameless' };

/** Looks at the beginning of a line, and in a message of the model for the mark of a call. */
export function skimClaude(bytes: Buffer, start: number, end: number): Skimmed {
  const head = bytes.toString('latin1', start, Math.min(end, start + HEAD_BYTES));
  const match = HEAD.exec(head);
  if (match === null) return withoutHead(head);
  const [whole, parent, sidechain, attachment, message, result] = match;
  const rest = start + whole.length;
  const side = sidechain !== undefined;
  if (attachment !== undefined)
    return attachment === 'file' ? READ : { kind: 'linked', parent, side, link: 'aside', result, rest };
  if (message === undefined) return { kind: 'linked', parent, side, link: 'result', result, rest };
  return bytes.subarray(rest, end).includes(CALL)
    ? READ
    : { kind: 'linked', parent, side, link: 'message', result, rest };
}

/** Is there another result in the rest of a line? */
export function holdsMoreResults(bytes: Buffer, rest: number, end: number): boolean {
  return bytes.subarray(rest, end).includes(RESULT);
}

function withoutHead(head: string): Skimmed {
  const type = NAMELESS.exec(head)?.[1];
  return type === undefined || NAMED.has(type) ? READ : SKIPPED;
}
