/** The facts that a store keeps about a session, in addition to its sightings. */
export interface SessionRecord {
  readonly id: string;
  readonly root: string;
  /**
   * True if the host or user named the session. A named session is kept when it is closed, so that
   * it can be resumed.
   */
  readonly named: boolean;
  /** The program that uses the session, such as `claude-code`, if it identified itself. */
  readonly client?: string;
  readonly parent?: string;
  /** Set if the session is a copy of its parent, not a sub-agent. */
  readonly forked?: true;
  readonly openedMs: number;
  readonly lastMs: number;
  readonly closedMs?: number;
  /** The processes that have the session open, or had it open when they died. */
  readonly openIn?: readonly string[];
}

export const MAX_SESSION_ID_CHARS = 200;

/** The message for a setting (`source`) whose value is no session id. Every door refuses it with these words. */
export function invalidSessionText(source: string): string {
  return `${source} is not a session id: use up to ${MAX_SESSION_ID_CHARS} printable characters`;
}

/** True if a value can be a session id: 1 to 200 printable characters on one line. */
export function isSessionId(value: unknown): value is string {
  return isPrintable(value) && value.length <= MAX_SESSION_ID_CHARS;
}

/**
 * True if a value is text on one line without control or invisible characters. Any length is
 * allowed: the ids of nested sub-agents may be long.
 */
export function isPrintable(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/[\p{C}\p{Zl}\p{Zp}]/u.test(value);
}
