import { standsAt } from './byte-match.ts';
import { keyAt, type NameKey } from './name-table.ts';

/** A record's name and time. */
export interface Named {
  readonly uuid: string;
  readonly key: NameKey;
  readonly timestamp: string;
}

const NAME = /"uuid":"[0-9a-f-]{36}","timestamp":"([0-9TZ:.-]{20,32})"$/;
const NAME_BYTES = 128;
const UUID_LENGTH = 36;

/** The name and time of a record that stand right before a position in its line. */
export function nameBefore(bytes: Buffer, at: number): Named | undefined {
  if (at < 0) return undefined;
  const match = NAME.exec(bytes.toString('latin1', Math.max(0, at - NAME_BYTES), at));
  const timestamp = match?.[1];
  if (match === null || timestamp === undefined) return undefined;
  const named = at - match[0].length + '"uuid":"'.length;
  // Copied out of the bytes: a piece of a longer string would keep all of it alive.
  const uuid = bytes.toString('latin1', named, named + UUID_LENGTH);
  return { uuid, key: keyAt(bytes, named), timestamp };
}

const UUID = Buffer.from(',"uuid":"');
const TIME = Buffer.from('","timestamp":"');

/** What may follow a record's last text. */
const AFTER_BYTES = 2048;

/** The name of a record in the rest of its line; undefined if it does not stand before its time. */
export function keyIn(line: Buffer): NameKey | undefined {
  // Behind the text, and before its repetition if there is one: rarely in the first half.
  const middle = Math.max(0, (line.length - AFTER_BYTES) >> 1);
  return keyAfter(line, middle) ?? (middle === 0 ? undefined : keyAfter(line, 0));
}

function keyAfter(line: Buffer, start: number): NameKey | undefined {
  for (let at = line.indexOf(UUID, start); at !== -1; at = line.indexOf(UUID, at + 1)) {
    const named = at + UUID.length;
    if (standsAt(line, TIME, named + UUID_LENGTH)) return keyAt(line, named);
  }
  return undefined;
}
