import type { JsonRecord } from '../model/record.ts';
import { isSessionId, MAX_SESSION_ID_CHARS } from '../model/session-id.ts';
import type { Store } from '../store/store.ts';

/** Where a client may name the session of a call. */
export const SESSION_KEY = 'dev.lookfirst/session';

/** Whose memory of files a call uses. */
export type SessionChoice =
  /** Named by someone: kept when it is closed. */
  | { readonly kind: 'named'; readonly id: string }
  /** A legacy HTTP session: as long as the transport keeps it. */
  | { readonly kind: 'transport'; readonly hint: string }
  /** A client that owns this process and named no session: as long as the process. */
  | { readonly kind: 'process' }
  /** One of several clients, without a name: nothing is remembered from one call to the next. */
  | { readonly kind: 'call' }
  | { readonly kind: 'invalid'; readonly reason: string };

/** A choice that is not refused. */
export type Chosen = Exclude<SessionChoice, { kind: 'invalid' }>;

export interface ChoiceOptions {
  /** `--session` */
  readonly session?: string | undefined;
  /** The session of a call without any name: one for the process (default), or a new one for every call. */
  readonly nameless?: 'process' | 'call';
  /**
   * The environment of a server that a client started for itself. Absent for one that serves whoever connects: its
   * environment is that of whoever started it, not of its clients.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** What clients put into `_meta` of their own accord: the conversation a call belongs to. Scope, not authority. */
const CLIENT_KEYS = [
  'vscode.conversationId',
  'threadId',
  'ai.opencode/sessionID',
  'antigravity.google/conversation_id',
] as const;
const CLIENT_VARIABLES = ['CLAUDE_CODE_SESSION_ID'] as const;

/**
 * The session of a call: what it says itself, then `--session`, then `LOOKFIRST_SESSION`, then the client's own id of the
 * conversation, then the transport's session, then that of nameless calls. An explicit id that is none is refused: falling back to
 * another session could let a call use what someone else has read.
 */
export function chooseSession(
  call: { readonly meta: JsonRecord; readonly sessionHint: string | undefined },
  { session, env = {}, nameless = 'process' }: ChoiceOptions,
): SessionChoice {
  const explicit = call.meta[SESSION_KEY];
  if (explicit !== undefined) {
    if (isSessionId(explicit)) return { kind: 'named', id: explicit };
    return {
      kind: 'invalid',
      reason: `_meta["${SESSION_KEY}"] must be a text of 1 to ${MAX_SESSION_ID_CHARS} printable characters`,
    };
  }
  const id =
    idAmong(session, env['LOOKFIRST_SESSION']) ?? idIn(call.meta, CLIENT_KEYS) ?? idIn(env, CLIENT_VARIABLES);
  if (id !== undefined) return { kind: 'named', id };
  return call.sessionHint === undefined ? { kind: nameless } : { kind: 'transport', hint: call.sessionHint };
}

/** Claude Code's id of a tool call, which its hooks name as well. */
const TOOL_USE_KEY = 'claudecode/toolUseId';

/**
 * The sub-agent that makes a call, if a hook has announced it. Claude Code starts one server for a conversation and all its
 * sub-agents, and names only the call. Undefined if there is nothing to look up.
 */
export function subAgentChoice(
  store: Pick<Store, 'pending'>,
  choice: SessionChoice,
  meta: JsonRecord,
): Promise<Chosen> | undefined {
  const call = meta[TOOL_USE_KEY];
  if (choice.kind !== 'named' || typeof call !== 'string' || meta[SESSION_KEY] !== undefined)
    return undefined;
  return store.pending().then((pending) => {
    const found = pending.find(
      ({ entry, foreign }) => foreign?.call === call && entry.session.startsWith(`${choice.id}/`),
    );
    return found === undefined ? choice : { kind: 'named', id: found.entry.session };
  });
}

function idAmong(first: unknown, second: unknown): string | undefined {
  if (isSessionId(first)) return first;
  return isSessionId(second) ? second : undefined;
}

function idIn(values: JsonRecord, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = values[name];
    if (isSessionId(value)) return value;
  }
  return undefined;
}
