import { AsyncLocalStorage } from 'node:async_hooks';
import { Fault } from '../model/fault.ts';
import type { Session } from '../model/session.ts';
import type { GatedSession } from './gated-session.ts';
import { checkOpening, type WorkspaceOptions } from './opening.ts';
import { Sessions } from './sessions.ts';

export interface SessionOptions extends WorkspaceOptions {
  /** Names the session: it is kept when closed and comes back under this name. */
  readonly session?: string;
}

/** Sessions that were opened in this process and are not closed, for `runInSession(id, …)`. */
const open = new Set<Session>();
const ambient = new AsyncLocalStorage<Session>();

/** Opens a workspace with one session; closing the session closes the workspace with it. */
export async function openSession(options: SessionOptions): Promise<GatedSession> {
  checkOpening(options, ['session']);
  const { session: id, ...rest } = options;
  const sessions = await Sessions.open(rest, { withLast: true, onClosed: (closed) => open.delete(closed) });
  try {
    const session = await sessions.session(id);
    open.add(session);
    return session;
  } catch (error) {
    await sessions.close();
    throw error;
  }
}

/**
 * Runs a function, and everything it calls and awaits, in a session: an open one, or the id of one. Of several with one id
 * it is the one that was opened last.
 */
export function runInSession<T>(session: Session | string, fn: () => T): T {
  const chosen = typeof session === 'string' ? [...open].findLast(({ id }) => id === session) : session;
  if (chosen === undefined) throw new Fault('MISUSE', `no open session has the id ${String(session)}`);
  if (typeof chosen?.read !== 'function') throw new Fault('MISUSE', 'this is neither a session nor its id');
  if (typeof fn !== 'function') throw new Fault('MISUSE', 'there is no function to run in the session');
  return ambient.run(chosen, fn);
}

/** The session of the function that asks. Asking outside of one is a Fault: a guess would be somebody else's. */
export function currentSession(): Session {
  const session = ambient.getStore();
  if (session === undefined) throw new Fault('MISUSE', 'no session: call this inside runInSession');
  return session;
}
