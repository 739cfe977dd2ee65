import type { Rendered } from '../dialect/render.ts';
import type { ClientCall } from '../model/call.ts';
import type { FaultCode } from '../model/fault.ts';
import type { JsonRecord } from '../model/record.ts';
import type { NextStep, Refusal } from '../model/verdict.ts';
import type { RefusalOutcome, SuccessOutcome } from '../report/json.ts';
import type { Escaped } from '../wire/lines.ts';

/** The result of a tool call: the text for the model, and the outcome for programs. */
export type ToolAnswer =
  | { readonly ok: true; readonly shown: Rendered | EscapedText; readonly outcome: SuccessOutcome }
  | { readonly ok: false; readonly text: string; readonly outcome: RefusalOutcome | FaultOutcome };

/** A text as escaped bytes. A transport writes them into JSON without making a string of them. */
export interface EscapedText {
  readonly escaped: Escaped;
}

/** The outcome of an internal failure, for programs. */
export interface FaultOutcome {
  readonly ok: false;
  readonly code: FaultCode;
  readonly next: NextStep;
}

/** An operation's result, before a refusal is rendered as text. */
export type Performed =
  | { readonly ok: true; readonly shown: Rendered | EscapedText; readonly outcome: SuccessOutcome }
  | { readonly ok: false; readonly refusal: Refusal };

/** Appends a text to an answer. */
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

/** The arguments of a call, or their JSON text. */
export type ToolArguments = JsonRecord | string;

/** The context of one call. */
export interface ToolContext {
  /** Fires when the client cancels, disconnects, or the server must end. */
  readonly signal: AbortSignal;
  /** The request's `_meta`, `{}` if it had none. */
  readonly meta: JsonRecord;
  /** The client program, if it gave its name and version. */
  readonly clientInfo: { readonly name: string; readonly version: string } | undefined;
  /**
   * The id of the client's HTTP session, which only protocol revisions before 2026-07-28 have;
   * otherwise undefined. It selects a session, but grants no rights.
   */
  readonly sessionHint: string | undefined;
  /** The call, with the times of its arrival and answer. */
  readonly times: ClientCall;
  /**
   * Reports progress. Ignored if the client did not request progress, or if `done` is not larger
   * than before.
   */
  progress(done: number, total?: number, message?: string): void;
}
