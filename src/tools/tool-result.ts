import type { RenderContext, Rendered } from '../dialect/render.ts';
import type { JsonRecord } from '../model/record.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import {
  OUTCOME_KEY,
  type RefusalOutcome,
  refusalOutcome,
  type SuccessOutcome,
  successOutcome,
} from '../report/json.ts';
import type { Escaped } from '../wire/json-text.ts';

/** What a tool answers: a result in the protocol's shape, or one text whose bytes go to the client as they are. */
export type ToolResult = ObjectResult | TextResult;

export interface ObjectResult {
  readonly kind: 'object';
  /** A `tools/call` result: `content`, `isError?`, `structuredContent?`, `_meta?`. */
  readonly result: JsonRecord & { readonly content: readonly JsonRecord[] };
}

/** A result with exactly one text block, made without a JavaScript string; see `JsonText`. */
export interface TextResult {
  readonly kind: 'text';
  readonly escaped: Escaped;
  readonly meta?: JsonRecord;
  readonly isError?: boolean;
  /** Repeats the text as this member of `structuredContent`, for dialects that promise it. */
  readonly structuredAs?: string;
}

/** A text that goes out without becoming a JavaScript string. */
export interface EscapedText {
  readonly escaped: Escaped;
}

/** What a call came to. */
export type Answer =
  | { readonly ok: true; readonly shown: Rendered | EscapedText; readonly outcome: SuccessOutcome }
  | { readonly ok: false; readonly refusal: Refusal };

/** Tells an operation's outcome in a dialect's words. */
export function answerOf<T extends object>(
  outcome: Outcome<T>,
  { context, render, summary }: Telling<T>,
): Answer {
  if (!outcome.ok) return outcome;
  return { ok: true, shown: render(outcome, context), outcome: (summary ?? successOutcome)(outcome) };
}

interface Telling<T> {
  readonly context: RenderContext;
  readonly render: (result: T, context: RenderContext) => Rendered;
  /** Default: what `report/` picks from any result. */
  readonly summary?: (result: T) => SuccessOutcome;
}

/** A success in the protocol's shape. `structured`: the dialect promises the content a second time. */
export function successResult(
  { shown, outcome }: Extract<Answer, { ok: true }>,
  structured: 'structured' | 'plain',
): ToolResult {
  const meta = metaOf(outcome);
  if (typeof shown !== 'string' && 'escaped' in shown) {
    const { escaped } = shown;
    return {
      kind: 'text',
      escaped,
      meta,
      ...(structured === 'structured' ? { structuredAs: 'content' } : {}),
    };
  }
  // A text that goes out twice is escaped once.
  if (typeof shown === 'string' && structured === 'structured')
    return { kind: 'text', escaped: escapedText(shown), meta, structuredAs: 'content' };
  const content = typeof shown === 'string' ? [{ type: 'text', text: shown }] : shown;
  const again = structured === 'structured' ? { structuredContent: { content: shown } } : {};
  return { kind: 'object', result: { content, ...again, _meta: meta } };
}

/** A refusal in the protocol's shape: never a protocol error, for the model can do something about it. */
export function refusalResult(text: string, refusal: Refusal): ToolResult {
  return {
    kind: 'object',
    result: { content: [{ type: 'text', text }], isError: true, _meta: metaOf(refusalOutcome(refusal)) },
  };
}

function escapedText(text: string): Escaped {
  return {
    expectedBytes: text.length + (text.length >> 3),
    writeTo: (out) => void out.json(JSON.stringify(text).slice(1, -1)),
  };
}

function metaOf(outcome: SuccessOutcome | RefusalOutcome): JsonRecord {
  return { [OUTCOME_KEY]: outcome };
}
