import type { CallTimes } from '../model/foreign-session.ts';
import type { JsonRecord } from '../model/record.ts';

/** One call's surroundings. */
export interface ToolContext {
  /** Fires when the client cancels, disconnects, or the server must end. */
  readonly signal: AbortSignal;
  /** The request's `_meta`, `{}` if it had none. */
  readonly meta: JsonRecord;
  /** The client program, if it introduced itself. */
  readonly clientInfo: { readonly name: string; readonly version: string } | undefined;
  /** The transport's own session: the id of a legacy HTTP session, undefined elsewhere. Scope, not authority. */
  readonly sessionHint: string | undefined;
  /** When the call arrived and was answered; absent if calls and answers come one after the other. */
  readonly times?: CallTimes | undefined;
  /** Reports how far the work is; does nothing if the client did not ask, or if `done` did not grow. */
  progress(done: number, total?: number, message?: string): void;
}
