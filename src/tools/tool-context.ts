import type { Approver } from '../gate/approval.ts';
import type { CallTimes } from '../model/foreign-session.ts';
import type { JsonRecord } from '../model/record.ts';

/** The context of one call. */
export interface ToolContext {
  /** Fires when the client cancels, disconnects, or the server must end. */
  readonly signal: AbortSignal;
  /** The request's `_meta`, `{}` if it had none. */
  readonly meta: JsonRecord;
  /** The client program, if it gave its name and version. */
  readonly clientInfo: { readonly name: string; readonly version: string } | undefined;
  /** The id of a legacy HTTP session; undefined elsewhere. It selects a session, but grants no rights. */
  readonly sessionHint: string | undefined;
  /** When the call arrived and was answered; absent if calls never overlap. */
  readonly times?: CallTimes | undefined;
  /** Asks the user to approve a change; absent if the client cannot ask. */
  readonly approve?: Approver | undefined;
  /** Reports progress. Does nothing if the client did not request it, or if `done` did not grow. */
  progress(done: number, total?: number, message?: string): void;
}
