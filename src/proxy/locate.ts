import type { ForeignSession, Located } from '../model/foreign-session.ts';
import type { Call } from './call.ts';
import { actionAt, pathsOf } from './understand.ts';

/** Asks once for each path of a call: a refusal is journalled where it is given. */
export function locate(call: Call, session: ForeignSession, path: string): Located | Promise<Located> {
  const known = call.located.get(path);
  if (known !== undefined) return known;
  const located = session.locate(path, actionAt(call.understanding, path));
  call.located.set(path, located);
  return located;
}

/** The keys of all files of a call, or what stands in the way of the first that may not be looked at, or not now. */
export function keysOf(
  call: Call,
  session: ForeignSession,
): { readonly keys: readonly string[] } | { readonly instead: Located | Promise<Located> } {
  const keys: string[] = [];
  for (const path of pathsOf(call.understanding)) {
    const located = locate(call, session, path);
    if (located instanceof Promise || !located.ok) return { instead: located };
    keys.push(located.key);
  }
  return { keys };
}
