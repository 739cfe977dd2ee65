import type { JsonRecord } from '../model/record.ts';
import { OUTCOME_KEY } from '../report/json.ts';
import type { ToolAnswer } from '../tools/tool-answer.ts';
import type { Escaped, JsonText } from '../wire/json-text.ts';
import { type Era, type Implementation, type RequestId, type RpcError, SERVER_INFO_KEY } from './protocol.ts';

/** An outgoing message in pieces that are written in order: JSON text, or objects that write it. */
export type Parts = readonly (string | Escaped)[];

/** Writes a message, without a newline. */
export function writeParts(parts: Parts, out: JsonText): void {
  for (const part of parts) {
    if (typeof part === 'string') out.json(part);
    else part.writeTo(out.expect(part.expectedBytes));
  }
}

export function resultMessage(id: RequestId, result: JsonRecord): Parts {
  return [`${head(id)}"result":${JSON.stringify(result)}}`];
}

export function errorMessage(id: RequestId | null, error: RpcError): Parts {
  const { code, message, data } = error;
  return [`${head(id)}"error":${JSON.stringify({ code, message, data })}}`];
}

export function requestMessage(id: RequestId, method: string, params?: JsonRecord): Parts {
  return [JSON.stringify({ jsonrpc: '2.0', id, method, params })];
}

export function notificationMessage(method: string, params: JsonRecord): Parts {
  return [JSON.stringify({ jsonrpc: '2.0', method, params })];
}

/** The answer to a modern call that first needs input from the client. */
export function inputRequiredMessage(id: RequestId, input: JsonRecord, info: Implementation): Parts {
  const result = complete(input, { era: 'modern', info });
  return resultMessage(id, { ...result, resultType: 'input_required' });
}

/** The answer to `tools/call`. In the modern era it also contains the completion mark and the server info. */
export function toolMessage(
  id: RequestId,
  result: ToolResult,
  server: { readonly era: Era; readonly info: Implementation },
): Parts {
  if (result.kind === 'object') return resultMessage(id, complete(result.result, server));
  const members = JSON.stringify(complete(textShell(result), server));
  const opening = `${head(id)}"result":{"content":[{"type":"text","text":"`;
  const closing = members === '{}' ? '}}' : `,${members.slice(1)}}`;
  if (result.structuredAs === undefined) return [opening, result.escaped, `"}]${closing}`];
  const key = JSON.stringify(result.structuredAs);
  return [opening, twice(result.escaped, `"}],"structuredContent":{${key}:"`), `"}${closing}`];
}

/** Writes a text, `between`, and the same text again. */
function twice(text: Escaped, between: string): Escaped {
  return {
    expectedBytes: text.expectedBytes * 2,
    writeTo: (out) => {
      const from = out.length;
      text.writeTo(out);
      const to = out.length;
      out.json(between).again(from, to);
    },
  };
}

/** Adds the members that revision 2026-07-28 requires in every result; legacy results stay unchanged. */
export function complete(
  result: JsonRecord,
  server: { readonly era: Era; readonly info: Implementation },
): JsonRecord {
  if (server.era === 'legacy') return result;
  const meta = result['_meta'];
  return {
    ...result,
    resultType: 'complete',
    _meta: { ...(typeof meta === 'object' ? meta : {}), [SERVER_INFO_KEY]: server.info },
  };
}

/** All members of a text result except its text. */
function textShell(result: TextResult): JsonRecord {
  return {
    ...(result.isError === undefined ? {} : { isError: result.isError }),
    ...(result.meta === undefined ? {} : { _meta: result.meta }),
  };
}

function head(id: RequestId | null): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
}

/** A `tools/call` result: an object in the protocol's form, or one text whose bytes are sent unchanged. */
export type ToolResult = ObjectResult | TextResult;

interface ObjectResult {
  readonly kind: 'object';
  /** The members are `content`, `isError?`, `structuredContent?` and `_meta?`. */
  readonly result: JsonRecord & { readonly content: readonly JsonRecord[] };
}

/** A result with exactly one text block, built without a JavaScript string; see `JsonText`. */
export interface TextResult {
  readonly kind: 'text';
  readonly escaped: Escaped;
  readonly meta?: JsonRecord;
  readonly isError?: boolean;
  /** Also sends the text as this member of `structuredContent`, for dialects that declare it. */
  readonly structuredAs?: string;
}

/** `structured`: the tool also returns its content as `structuredContent`. */
type Form = 'structured' | 'plain';

/** The form of a tool's results. */
export function formOf(tool: { readonly outputSchema?: unknown }): Form {
  return tool.outputSchema === undefined ? 'plain' : 'structured';
}

/**
 * Converts an answer to the protocol's form. A refusal is a result, never a protocol error, so that
 * the model can act on it.
 */
export function toolResult(answer: ToolAnswer, form: Form): ToolResult {
  const meta = { [OUTCOME_KEY]: answer.outcome };
  if (!answer.ok) {
    const content = [{ type: 'text', text: answer.text }];
    return { kind: 'object', result: { content, isError: true, _meta: meta } };
  }
  const { shown } = answer;
  if (typeof shown !== 'string' && 'escaped' in shown) return textResult(shown.escaped, meta, form);
  // A text that is sent twice is escaped once.
  if (typeof shown === 'string' && form === 'structured') return textResult(escapedText(shown), meta, form);
  const content = typeof shown === 'string' ? [{ type: 'text', text: shown }] : shown;
  const again = form === 'structured' ? { structuredContent: { content: shown } } : {};
  return { kind: 'object', result: { content, ...again, _meta: meta } };
}

function textResult(escaped: Escaped, meta: JsonRecord, form: Form): TextResult {
  return { kind: 'text', escaped, meta, ...(form === 'structured' ? { structuredAs: 'content' } : {}) };
}

function escapedText(text: string): Escaped {
  return {
    expectedBytes: text.length + (text.length >> 3),
    writeTo: (out) => void out.json(JSON.stringify(text).slice(1, -1)),
  };
}
