import type { JsonRecord } from '../model/record.ts';
import type { Escaped, JsonText } from '../wire/json-text.ts';
import type { RequestId } from './message.ts';
import { type Era, type Implementation, type RpcError, SERVER_INFO_KEY } from './protocol.ts';
import type { TextResult, ToolResult } from './tool-result.ts';

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
