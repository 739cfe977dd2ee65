import type { Awaitable } from '../model/awaitable.ts';
import type { Escaped } from './json-text.ts';

/** `legacy`: revisions negotiated by `initialize`; `modern`: 2026-07-28, where every request speaks for itself. */
export type Era = 'legacy' | 'modern';

/** A JSON object whose members nobody has looked at yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Who is speaking, in the protocol's own shape. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly websiteUrl?: string;
}

/** One tool as it is listed to clients; `inputSchema` and `outputSchema` are JSON Schema objects. */
export interface ToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonObject & { readonly type: 'object' };
  readonly outputSchema?: JsonObject & { readonly type: 'object' };
  readonly annotations?: {
    readonly title?: string;
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint?: boolean;
  };
}

/** What a tool answers: a result in the protocol's shape, or one text whose bytes go to the client as they are. */
export type ToolResult = ObjectResult | TextResult;

export interface ObjectResult {
  readonly kind: 'object';
  /** A `tools/call` result: `content`, `isError?`, `structuredContent?`, `_meta?`. */
  readonly result: JsonObject & { readonly content: readonly JsonObject[] };
}

/** A result with exactly one text block, made without a JavaScript string; see `JsonText`. */
export interface TextResult {
  readonly kind: 'text';
  readonly escaped: Escaped;
  readonly meta?: JsonObject;
  readonly isError?: boolean;
  /** Repeats the text as this member of `structuredContent`, for dialects that promise it. */
  readonly structuredAs?: string;
}

/** One call's surroundings. */
export interface ToolContext {
  /** Fires when the client cancels, disconnects, or the server must end. */
  readonly signal: AbortSignal;
  /** The request's `_meta`, `{}` if it had none. */
  readonly meta: JsonObject;
  readonly era: Era;
  readonly clientInfo: Implementation | undefined;
  /** The transport's own session: the id of a legacy HTTP session, undefined elsewhere. Scope, not authority. */
  readonly sessionHint: string | undefined;
  /** Tells the client how far the work is; nothing happens if it did not ask, or if `done` did not grow. */
  progress(done: number, total?: number, message?: string): void;
}

/**
 * What a transport serves: the tools, without a word about how messages travel. One host serves many clients at once,
 * so its state lives by session, never by connection.
 */
export interface ToolHost {
  readonly info: Implementation;
  readonly instructions: string;
  /** In a fixed order, the same for every client. */
  tools(): readonly ToolDefinition[];
  /**
   * Runs one tool that `tools()` names. Refusals, bad arguments included, are results with `isError`; what it throws
   * is our own failure and reaches the client as a fixed sentence. After `signal` fires the answer is dropped.
   */
  call(name: string, args: JsonObject, context: ToolContext): Awaitable<ToolResult>;
  /** A transport session ended or expired: nothing will come from this `sessionHint` again. */
  sessionEnded?(sessionHint: string): void;
}
