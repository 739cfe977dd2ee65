import type { ServerTable } from '../dialect/calls/table.ts';
import type { ForeignSession } from '../model/foreign-session.ts';
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
