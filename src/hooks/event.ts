export const HOST_NAMES = [
  'claude-code',
  'codex',
  'gemini',
  'cursor',
  'vscode',
  'opencode',
  'generic',
] as const;
export type HostName = (typeof HOST_NAMES)[number];

/** An unchecked JSON object from a host. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Who the event is about and where it happened. */
interface EventContext {
  /** The host's session id; with `/` and the sub-agent's id for a sub-agent. */
  readonly session: string;
  /** The host's word for the turn (the user prompt that is being answered), if it has one. */
  readonly turn?: string;
  /** Relative paths of this event start here. */
  readonly cwd?: string;
  /** The folders that the host calls its workspace, if the event names them. */
  readonly workspaceRoots?: readonly string[];
  readonly transcript?: string;
}

/** One call of a tool, before or after the host carried it out. */
export interface ToolCall {
  readonly tool: string;
  readonly input: unknown;
  /** The host's id of the call. Without one, before and after are paired by session, tool and input. */
  readonly call?: string;
}

/** An event of any host, in one form for all of them. */
export type HookEvent = EventContext &
  (
    | (ToolCall & { readonly kind: 'before' })
    | (ToolCall & { readonly kind: 'after'; readonly response: unknown })
    | (ToolCall & { readonly kind: 'failed'; readonly error: string })
    | { readonly kind: 'prompt'; readonly prompt: string }
    | { readonly kind: 'start'; readonly source: 'new' | 'resumed' | 'cleared' }
    /** The model's context was summarised, or is about to be where the host has no later event. */
    | { readonly kind: 'compacted' }
    | { readonly kind: 'agent-start' | 'agent-stop' | 'turn-end' | 'end' }
    /** The host has removed a worktree. Worktrees that it creates are found through git. */
    | { readonly kind: 'worktree-removed'; readonly worktree: string }
    /** An event without a meaning for the gate. */
    | { readonly kind: 'other' }
  );

/** The gate's reply to an event. Only a before-event can be denied. */
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
}

/** One agent program: how it spells its events, and which answers it obeys. */
export interface Host {
  readonly name: HostName;
  /** The environment variable that names the project folder. */
  readonly projectVariable?: string;
  /** Whether the host shows the model a context that comes with the answer to a before-event. */
  readonly contextBefore: boolean;
  understand(payload: JsonObject): HookEvent | Malformed;
  /** `eventName` is the host's own word for the event, as the payload spelt it. */
  answer(
    reply: HookReply,
    event: { readonly eventName: string; readonly kind: HookEvent['kind'] },
  ): HookAnswer;
}
