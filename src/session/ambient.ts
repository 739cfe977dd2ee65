import { AsyncLocalStorage } from 'node:async_hooks';
import { Fault } from '../model/fault.ts';
import type { Session } from '../model/session.ts';

/**
 * Open sessions of this process, in the order of opening. Module state, because `runInSession(id,
 * …)` is given only an id.
 */
const open = new Set<Session>();
const ambient = new AsyncLocalStorage<Session>();

/** Lets `runInSession` find a session by its id until it is closed. */
export const openSessions = {
  add: (session: Session): void => void open.add(session),
  remove: (session: Session): void => void open.delete(session),
};

/**
 * Runs a function, and everything it calls and awaits, in an open session, given as the session or its id. If several
 * open sessions have the id, the last opened is used. `Sessions.run` also opens a session that is not open.
 */
export function runInSession<T>(session: Session | string, fn: () => T): T {
  const chosen = typeof session === 'string' ? [...open].findLast(({ id }) => id === session) : session;
  if (chosen === undefined) throw new Fault('MISUSE', `no open session has the id ${String(session)}`);
  if (typeof chosen?.read !== 'function')
    throw new Fault('MISUSE', 'runInSession needs a session or the id of one');
  if (typeof fn !== 'function') throw new Fault('MISUSE', 'there is no function to run in the session');
  return ambient.run(chosen, fn);
}

/**
 * The session of the calling function. Throws a Fault outside of a session: a guess could pick another agent's session.
 */
export function currentSession(): Session {
  const session = ambient.getStore();
  if (session === undefined) throw new Fault('MISUSE', 'no session: call this inside runInSession');
  return session;
}
