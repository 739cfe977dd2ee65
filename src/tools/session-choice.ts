import type { JsonRecord } from '../model/record.ts';
import type { Session } from '../model/session.ts';
import { invalidSessionText, isSessionId, MAX_SESSION_ID_CHARS } from '../model/session-record.ts';
import { isTurnId } from '../model/turn.ts';
import type { GatedSession } from '../session/gated-session.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';
import type { ToolContext } from './tool-answer.ts';

/** The `_meta` key in which a client may name the session of a call. */
export const SESSION_KEY = 'dev.lookfirst/session';

/** The session of a call. Only what this session has read counts for the call. */
export type SessionChoice =
  /** Explicitly named: what it has read is remembered even after it is closed. */
  | { readonly kind: 'named'; readonly id: string }
  /** For an HTTP client of a protocol revision before 2026-07-28: lasts as long as its HTTP session. */
  | { readonly kind: 'transport'; readonly hint: string }
  /** For a client that started this process and names no session: lasts as long as the process. */
  | { readonly kind: 'process' }
  /** For a call that names no session, on a server with several clients: nothing is remembered between calls. */
  | { readonly kind: 'call' }
  | { readonly kind: 'invalid'; readonly reason: string };

/** A valid choice. */
type Chosen = Exclude<SessionChoice, { kind: 'invalid' }>;

export interface ChoiceOptions {
  /** The value of `--session`. */
  readonly session?: string | undefined;
  /** The session of a call that names none: one for the process (default), or a new one per call. */
  readonly nameless?: 'process' | 'call';
  /**
   * The environment variables that may name the session. A server with several clients passes only
   * LOOKFIRST_SESSION, because its other variables say nothing about its clients.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * The `_meta` keys in which clients identify the conversation of a call. They select a session, but
 * grant no rights.
 */
const CLIENT_KEYS = [
  'vscode.conversationId',
  'threadId',
  'ai.opencode/sessionID',
  'antigravity.google/conversation_id',
] as const;
const CLIENT_VARIABLES = ['CLAUDE_CODE_SESSION_ID'] as const;

/** The parts of a call that can name its session. */
type Calling = Pick<ToolContext, 'meta' | 'sessionHint'>;

/**
 * Returns the function that chooses the session of a call, in this order: the call's own `_meta`, `--session`,
 * `LOOKFIRST_SESSION`, the client's conversation id, the transport's session, the session of
 * nameless calls. An invalid explicit id is refused: falling back could let a call use what another
 * session has read.
 */
export function sessionSelector(options: ChoiceOptions): (call: Calling) => SessionChoice {
  const { session, env = {}, nameless = 'process' } = options;
  const ofServer = choiceOfServer(session, env['LOOKFIRST_SESSION']);
  const ofClient = idIn(env, CLIENT_VARIABLES);
  return ({ meta, sessionHint: hint }) => {
    const explicit = meta[SESSION_KEY];
    if (explicit !== undefined) {
      if (isSessionId(explicit)) return { kind: 'named', id: explicit };
      return {
        kind: 'invalid',
        reason: `_meta["${SESSION_KEY}"] must be a text of 1 to ${MAX_SESSION_ID_CHARS} printable characters`,
      };
    }
    if (ofServer !== undefined) return ofServer;
    const id = idIn(meta, CLIENT_KEYS) ?? ofClient;
    if (id !== undefined) return { kind: 'named', id };
    return hint === undefined ? { kind: nameless } : { kind: 'transport', hint };
  };
}

/** The session that the server's own settings name; undefined if they name none. */
function choiceOfServer(flag: string | undefined, variable: string | undefined): SessionChoice | undefined {
  const id = flag ?? (variable || undefined);
  if (id === undefined) return undefined;
  if (isSessionId(id)) return { kind: 'named', id };
  const source = flag === undefined ? 'LOOKFIRST_SESSION' : 'the session given to the server';
  return { kind: 'invalid', reason: invalidSessionText(source) };
}

/**
 * The `_meta` key in which Claude Code sends its id of a tool call. Claude Code's hooks report the
 * same id.
 */
const TOOL_USE_KEY = 'claudecode/toolUseId';

/**
 * Finds the session of the sub-agent that makes a call. Claude Code sends only an id of the call;
 * its hook has reported which sub-agent makes the call. Resolves to `choice` if no hook has
 * reported it. Returns undefined if there is nothing to look up: the call has no id or names its
 * session itself, or `choice` is not a named session.
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
      ({ entry, host }) => host?.call === call && entry.session.startsWith(`${choice.id}/`),
    );
    return found === undefined ? choice : { kind: 'named', id: found.entry.session };
  });
}

function idIn(values: JsonRecord, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = values[name];
    if (value !== undefined && isSessionId(value)) return value;
  }
  return undefined;
}

/** The `_meta` key by which a request reports that the model's context was compacted before it. */
export const CONTEXT_KEY = 'dev.lookfirst/context';

/** The `_meta` key that names the request's turn. A turn is the work between two user prompts. */
export const TURN_KEY = 'dev.lookfirst/turn';

/**
 * The notification that reports that the client has shortened the conversation (a compaction). A
 * request reports it by `CONTEXT_KEY`.
 */
export const COMPACTED_METHOD = 'notifications/dev.lookfirst/compacted';

/** The session methods that apply reported events: a compaction, or the beginning of a turn. */
type Told = Pick<Session, 'compacted' | 'beginTurn'>;

/** The events a request reports, or the reason its report is invalid. */
type SessionEvents =
  | { readonly kind: 'none' }
  | { readonly kind: 'events'; readonly apply: (session: Told) => Promise<void> }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Parses the events in a request's `_meta`. */
export function eventsIn(meta: JsonRecord): SessionEvents {
  const context = meta[CONTEXT_KEY];
  const turn = meta[TURN_KEY];
  if (context === undefined && turn === undefined) return { kind: 'none' };
  if (context !== undefined && context !== 'compacted')
    return { kind: 'invalid', reason: `_meta["${CONTEXT_KEY}"] must be "compacted"` };
  if (turn !== undefined && !isTurnId(turn))
    return {
      kind: 'invalid',
      reason: `_meta["${TURN_KEY}"] must be a text of 1 to ${MAX_SESSION_ID_CHARS} printable characters`,
    };
  const apply = async (session: Told): Promise<void> => {
    if (context !== undefined) await session.compacted();
    if (turn !== undefined) await session.beginTurn({ turn });
  };
  return { kind: 'events', apply };
}

/**
 * Maximum number of open sessions. Beyond it, the named sessions that were idle the longest are closed. They reopen
 * on their next use.
 */
const MAX_OPEN = 256;

/** A choice whose session stays open between calls. */
type Kept = Exclude<Chosen, { kind: 'call' }>;

/** A session that is being opened, or that is open, and the number of calls that use it. */
interface Pooled {
  session: Promise<GatedSession>;
  /** The session, unless calls must wait for it. */
  now?: GatedSession | undefined;
  calls: number;
  ended: boolean;
}

/** The session of one call. */
type Lease = Pooled;

/** The open sessions of one server. Opens each on first use, and never closes one during a call. */
export class SessionPool {
  readonly #sessions: Sessions;
  readonly #maxOpen: number;
  /** The open sessions, ordered by last use. */
  readonly #pooled = new Map<string, Pooled>();

  constructor(sessions: Sessions, maxOpen: number = MAX_OPEN) {
    this.#sessions = sessions;
    this.#maxOpen = maxOpen;
  }

  /**
   * The session of a call, which stays open until the lease is passed to `released`. `client`: the
   * name of the calling program, recorded if this call opens the session.
   */
  lease(choice: Chosen, client?: string): Lease {
    return choice.kind === 'call'
      ? { session: this.#sessions.session(), calls: 1, ended: true }
      : this.#take(keyOf(choice), choice, client);
  }

  /**
   * Applies an event (a compaction, a new turn) to a session. Later calls in the session wait until
   * that is done. Does nothing for a session that lasts for one call.
   */
  async before(choice: Chosen, event: (session: GatedSession) => Promise<unknown>): Promise<void> {
    if (choice.kind === 'call') return;
    const pooled = this.#take(keyOf(choice), choice);
    const waiting = pooled.session.then(async (open) => {
      await event(open);
      return open;
    });
    pooled.session = waiting;
    pooled.now = undefined;
    try {
      const open = await waiting;
      if (pooled.session === waiting) pooled.now = open;
    } catch (error) {
      // Remove the failed session, so that later calls open it again instead of failing too.
      this.#pooled.delete(keyOf(choice));
      throw error;
    } finally {
      await released(pooled);
    }
  }

  /**
   * Ends a transport's session. The session's reads are forgotten as soon as no call uses the
   * session.
   */
  async end(hint: string): Promise<void> {
    await this.#drop(keyOf({ kind: 'transport', hint }));
  }

  #take(key: string, choice: Kept, client?: string | undefined): Pooled {
    const known = this.#pooled.get(key);
    const pooled = known ?? this.#opening(key, choice, client);
    pooled.calls += 1;
    this.#pooled.delete(key);
    this.#pooled.set(key, pooled);
    return pooled;
  }

  #opening(key: string, choice: Kept, client: string | undefined): Pooled {
    const session = this.#open(key, choice, client);
    const pooled: Pooled = { session, calls: 0, ended: false };
    session.then(
      (open) => {
        if (pooled.session === session) pooled.now = open;
      },
      // The calls that wait for it report the failure.
      () => undefined,
    );
    return pooled;
  }

  async #open(key: string, choice: Kept, client: string | undefined): Promise<GatedSession> {
    try {
      await this.#makeRoom();
      return await this.#sessions.session(choice.kind === 'named' ? choice.id : undefined, client);
    } catch (error) {
      this.#pooled.delete(key);
      throw error;
    }
  }

  async #makeRoom(): Promise<void> {
    for (const [key, pooled] of this.#pooled) {
      if (this.#pooled.size < this.#maxOpen) return;
      // Close only named sessions: others cannot be reopened, and their clients may still be connected.
      if (pooled.calls === 0 && key.startsWith('named:')) await this.#drop(key);
    }
  }

  async #drop(key: string): Promise<void> {
    const pooled = this.#pooled.get(key);
    if (pooled === undefined) return;
    this.#pooled.delete(key);
    pooled.ended = true;
    if (pooled.calls === 0) await closeOf(pooled);
  }
}

function keyOf(choice: Kept): string {
  switch (choice.kind) {
    case 'named':
      return `named:${choice.id}`;
    case 'transport':
      return `transport:${choice.hint}`;
    case 'process':
      return 'process';
    default:
      return choice satisfies never;
  }
}

/** Notes that a call has ended. The last call of an ended session closes it. */
export function released(lease: Lease): Promise<void> | undefined {
  lease.calls -= 1;
  return lease.calls === 0 && lease.ended ? closeOf(lease) : undefined;
}

async function closeOf(pooled: Pooled): Promise<void> {
  await (await pooled.session).close();
}
