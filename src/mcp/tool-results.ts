import type { Rendered, Words } from '../dialect/words.ts';
import type { Outcome, Refusal } from '../model/verdict.ts';
import {
  OUTCOME_KEY,
  type RefusalOutcome,
  refusalOutcome,
  type SuccessOutcome,
  successOutcome,
} from '../report/json.ts';
import type { Escaped } from './json-text.ts';
import type { JsonObject, ToolResult } from './tool-host.ts';

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
  { words, render, summary }: Telling<T>,
): Answer {
  if (!outcome.ok) return outcome;
  return { ok: true, shown: render(outcome, words), outcome: (summary ?? successOutcome)(outcome) };
}

interface Telling<T> {
  readonly words: Words;
  readonly render: (result: T, words: Words) => Rendered;
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

function metaOf(outcome: SuccessOutcome | RefusalOutcome): JsonObject {
  return { [OUTCOME_KEY]: outcome };
}
