import type { HostName } from '../config/hook-flags.ts';
import type { JsonRecord } from '../model/record.ts';

/** The session, turn and folders of an event. */
interface EventContext {
  /** The host's session id. For a sub-agent, `/` and the sub-agent's id follow it. */
  readonly session: string;
  /** The host's id of the turn (the user prompt that is being answered), if it has one. */
  readonly turn?: string;
  /** The folder in which relative paths of this event start. */
  readonly cwd?: string;
  /** The folders that the host calls its workspace, if the event names them. */
  readonly workspaceRoots?: readonly string[];
  readonly transcript?: string;
}

/** One call of a tool, before or after the host has made it. */
export interface ToolCall {
  readonly tool: string;
  readonly input: unknown;
  /**
   * The host's id of the call. Without one, the events before and after a call are matched by
   * session, tool and input.
   */
  readonly call?: string;
}

/** An event of any host, in one common form. */
export type HookEvent = EventContext &
  (
    | (ToolCall & { readonly kind: 'before' })
    | (ToolCall & {
        readonly kind: 'after';
        readonly response: unknown;
        /** True if the model may be shown only a part of the response. */
        readonly isPartial?: true;
      })
    | (ToolCall & { readonly kind: 'failed'; readonly error: string })
    | { readonly kind: 'prompt'; readonly prompt: string }
    | { readonly kind: 'start'; readonly source: 'new' | 'resumed' | 'cleared' }
    /** The model's context was summarised. Some hosts report this only before it happens. */
    | { readonly kind: 'compacted' }
    /**
     * The host has removed the message `before` and all later ones from its conversation. The ids
     * of later messages and turns are greater than `before`.
     */
    | { readonly kind: 'rewound'; readonly before: string }
    | { readonly kind: 'agent-start' | 'agent-stop' | 'turn-end' | 'end' }
    /** An event that the gate ignores. */
    | { readonly kind: 'other' }
  );

/** The gate's reply to an event. It can deny a call only if the event comes before the call. */
export type HookReply =
  | { readonly verdict: 'pass'; readonly context?: string }
  | { readonly verdict: 'deny'; readonly reason: string };

/** The output and the exit code of the hook process. */
export interface HookAnswer {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: 0 | 2;
}

export const SILENT: HookAnswer = { stdout: '', stderr: '', exitCode: 0 };

/** Input that is not one of the host's events. */
export interface Malformed {
  readonly kind: 'malformed';
  readonly reason: string;
  /** Set if the event's name is unknown. The event may precede a change, so it is denied. */
  readonly isUnknownEvent?: true;
}

/** One agent program: the form of its events, and the answers that it obeys. */
export interface Host {
  readonly name: HostName;
  /** The environment variable that names the project folder. */
  readonly projectVariable?: string;
  /** True if the host shows the model the `context` of a reply to an event before a call. */
  readonly contextBefore: boolean;
  understand(payload: JsonRecord): HookEvent | Malformed;
  /** `eventName` is the host's own name for the event, as in the payload. */
  answer(
    reply: HookReply,
    event: { readonly eventName: string; readonly kind: HookEvent['kind'] },
  ): HookAnswer;
}
