import type { RenderContext, Rendered } from '../dialect/render.ts';
import type { FaultCode } from '../model/fault.ts';
import type { NextStep, Outcome, Refusal } from '../model/verdict.ts';
import { type RefusalOutcome, type SuccessOutcome, successOutcome } from '../report/json.ts';
import { type PathNames, withShownPaths } from '../session/path-names.ts';
import type { Escaped } from '../wire/json-text.ts';

/** What a tool call came to: what the model is shown, and the outcome for programs. */
export type ToolAnswer =
  | { readonly ok: true; readonly shown: Rendered | EscapedText; readonly outcome: SuccessOutcome }
  | { readonly ok: false; readonly text: string; readonly outcome: RefusalOutcome | FaultOutcome };

/** A text that goes out without becoming a JavaScript string. */
export interface EscapedText {
  readonly escaped: Escaped;
}

/** A failure of our own, for programs. */
export interface FaultOutcome {
  readonly ok: false;
  readonly code: FaultCode;
  readonly next: NextStep;
}

/** An operation's result before its refusal is put into sentences. */
export type Performed =
  | { readonly ok: true; readonly shown: Rendered | EscapedText; readonly outcome: SuccessOutcome }
  | { readonly ok: false; readonly refusal: Refusal };

/** For whom an answer is made. */
export interface Audience {
  readonly context: RenderContext;
  /** Absent: paths are shown as the session gives them. */
  readonly names?: PathNames | undefined;
}

interface Rendering<T> {
  readonly render: (result: T, context: RenderContext) => Rendered;
  /** Default: what `report/` picks from any result. */
  readonly summary?: (result: T) => SuccessOutcome;
}

/** Renders an operation's outcome in a dialect's words. A refusal is put into words later, by its dialect. */
export function rendered<T extends object>(
  given: Outcome<T>,
  { context, names }: Audience,
  { render, summary }: Rendering<T>,
): Performed {
  const outcome = names === undefined ? given : withShownPaths(given, names);
  if (!outcome.ok) return outcome;
  return { ok: true, shown: render(outcome, context), outcome: (summary ?? successOutcome)(outcome) };
}

/** The same answer with one more text at its end. */
export function withText<Answer extends ToolAnswer | Performed>(answer: Answer, text: string): Answer {
  if ('shown' in answer) return { ...answer, shown: shownWith(answer.shown, text) };
  return 'text' in answer ? { ...answer, text: `${answer.text}\n${text}` } : answer;
}

function shownWith(shown: Rendered | EscapedText, text: string): Rendered | EscapedText {
  if (typeof shown === 'string') return `${shown}\n${text}`;
  if (!('escaped' in shown)) return [...shown, { type: 'text', text }];
  const { expectedBytes, writeTo } = shown.escaped;
  return {
    escaped: {
      expectedBytes: expectedBytes + text.length,
      writeTo: (out) => {
        writeTo(out);
        out.text(`\n${text}`);
      },
    },
  };
}
