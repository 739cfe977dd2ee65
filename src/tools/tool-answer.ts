import type { RenderContext, Rendered } from '../dialect/render.ts';
import type { Call } from '../dialect/tool.ts';
import type { ClientCall } from '../model/call.ts';
import type { FaultCode } from '../model/fault.ts';
import type { JsonRecord } from '../model/record.ts';
import type { NextStep, Outcome, Refusal } from '../model/verdict.ts';
import {
  applyOutcome,
  type RefusalOutcome,
  type SuccessOutcome,
  successOutcome,
  undoOutcome,
} from '../report/json.ts';
import type { GatedSession } from '../session/gated-session.ts';
import { type PathNames, withShownPaths } from '../session/path-names.ts';
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

/** The context in which an answer is rendered. */
interface Audience {
  readonly context: RenderContext;
  /** Translates paths for display; absent: paths are shown as the session gives them. */
  readonly names?: PathNames | undefined;
}

interface ResultRenderer<T> {
  readonly render: (result: T, context: RenderContext) => Rendered;
  /** Converts the result to the outcome for programs. Default: `successOutcome`. */
  readonly summary?: (result: T) => SuccessOutcome;
}

/** Renders an operation's outcome in a dialect's wording. Refusals are rendered later. */
export function rendered<T extends object>(
  given: Outcome<T>,
  { context, names }: Audience,
  { render, summary }: ResultRenderer<T>,
): Performed {
  const outcome = names === undefined ? given : withShownPaths(given, names);
  if (!outcome.ok) return outcome;
  return { ok: true, shown: render(outcome, context), outcome: (summary ?? successOutcome)(outcome) };
}

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

/** A call that may change files. */
type ChangeCall = Extract<
  Call,
  { kind: 'write' | 'edit' | 'insert' | 'apply' | 'patch' | 'delete' | 'move' | 'mkdir' | 'undo' }
>;

/**
 * Performs a change and renders its result. Once the first file is touched, a change cannot be
 * cancelled: it finishes and is recorded in the journal.
 */
export async function performChange(
  call: ChangeCall,
  session: GatedSession,
  performing: Audience & { readonly watch: { readonly signal?: AbortSignal | undefined } },
): Promise<Performed> {
  const audience: Audience = performing;
  const { signal } = performing.watch;
  switch (call.kind) {
    case 'write': {
      const { path, content, ...options } = call.operation;
      return rendered(await session.write(path, content, { signal, ...options }), audience, {
        render: call.render,
      });
    }
    case 'edit': {
      const { path, edits, ...options } = call.operation;
      return rendered(await session.edit(path, edits, { signal, ...options }), audience, {
        render: call.render,
      });
    }
    case 'insert': {
      const { path, content, ...options } = call.operation;
      return rendered(await session.insert(path, content, { signal, ...options }), audience, {
        render: call.render,
      });
    }
    case 'apply': {
      const { changes, dryRun, unread } = call.operation;
      const outcome = await (unread === 'show'
        ? session.preview(changes, { signal })
        : session.apply(changes, { dryRun, signal }));
      return rendered(outcome, audience, { render: call.render, summary: applyOutcome });
    }
    case 'patch':
      return rendered(await session.patch(call.operation, { names: audience.names, signal }), audience, {
        render: call.render,
        summary: applyOutcome,
      });
    case 'delete': {
      const { path, ...options } = call.operation;
      return rendered(await session.delete(path, { signal, ...options }), audience, { render: call.render });
    }
    case 'move': {
      const { source, destination, ...options } = call.operation;
      return rendered(await session.move(source, destination, { signal, ...options }), audience, {
        render: call.render,
      });
    }
    case 'mkdir':
      return rendered(await session.mkdir(call.operation.path, { signal }), audience, {
        render: call.render,
      });
    case 'undo':
      return rendered(await session.undo(call.operation, { signal }), audience, {
        render: call.render,
        summary: undoOutcome,
      });
    default:
      return call satisfies never;
  }
}
