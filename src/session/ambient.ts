import { AsyncLocalStorage } from 'node:async_hooks';
import { Fault } from '../model/fault.ts';
import type { Session } from '../model/session.ts';
import type { Store } from '../store/store.ts';

/**
 * The open sessions of this process with their stores, the newest last. Module state, because
 * `runInSession(id, …)` gets only an id.
 */
const open = new Map<Session, Store>();
const ambient = new AsyncLocalStorage<Session>();

/** Lets `runInSession` find a session by its id until it closes. */
export const openSessions = {
  add: (session: Session, store: Store): void => void open.set(session, store),
  remove: (session: Session): void => void open.delete(session),
  /** True if this process has an open session with this id whose store holds the same state. */
  has: (id: string, store: Store): boolean =>
    [...open].some(([session, other]) => session.id === id && isSameState(other, store)),
};

/**
 * True if two stores hold the same state. Different stores in memory never do, although their URLs
 * are equal.
 */
function isSameState(one: Store, other: Store): boolean {
  return one === other || (one.url === other.url && one.url !== 'memory:');
}

/**
 * Runs a function, and everything it calls and awaits, in an open session. Given an id, uses the
 * session that was opened last with that id. `Sessions.run` can also open a session.
 */
export function runInSession<T>(session: Session | string, fn: () => T): T {
  const chosen =
    typeof session === 'string' ? [...open.keys()].findLast(({ id }) => id === session) : session;
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
