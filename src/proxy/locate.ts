import type { ServerTable } from '../dialect/servers/server-table.ts';
import type { Call } from './call.ts';
import type { ForeignSession, Located } from './foreign-session.ts';
import { changes, givenPaths, pathsOf, type Understanding } from './understand.ts';

const ASCII = /^[\0-\x7f]*$/;
/** What no sign outside of ASCII is the same as. */
const UNMISTAKABLE = /^[\0-:<-JL-_a-\x7f]*$/;

/**
 * True when the upstream may open a file of a slightly other name. For a change a few signs of ASCII are asked about as
 * well: the sign for kelvin, say, is the same as the letter.
 */
export function mayBeRespelt(understanding: Understanding, table: ServerTable | undefined): boolean {
  if (table?.equalNames !== true || understanding.guessed) return false;
  const plain = changes(understanding) ? UNMISTAKABLE : ASCII;
  return !givenPaths(understanding).every((path) => plain.test(path));
}

/** The same call, about the files as they are spelt on disk right now. */
export function respelt(understanding: Understanding, session: ForeignSession): Understanding {
  const spelt = new Map<string, string>();
  for (const path of pathsOf(understanding)) spelt.set(path, session.spelt(path));
  const place = (path: string): string => {
    const placed = understanding.place(path);
    return spelt.get(placed) ?? placed;
  };
  return { ...understanding, place };
}

/** Asks once for each path of a call: a refusal is journalled where it is given. */
export function locate(call: Call, session: ForeignSession, path: string): Located | Promise<Located> {
  const known = call.located.get(path);
  if (known !== undefined) return known;
  const located = session.locate(path);
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
