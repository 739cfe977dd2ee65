import type { JsonRecord } from '../model/record.ts';
import { OUTCOME_KEY } from '../report/json.ts';
import type { ToolAnswer } from '../tools/tool-answer.ts';
import type { Escaped } from '../wire/json-text.ts';

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
