import type { ToolResult } from '../tool-result.ts';
import { endOfWord, standsAt } from './byte-match.ts';
import { keyAt, type NameKey } from './name-table.ts';
import { TIME_LENGTH, timeAt } from './time-bytes.ts';

/** A record's name and time. */
export interface Named {
  readonly uuid: string;
  readonly key: NameKey;
  readonly atMs: number | undefined;
}

/** A result that was taken from its line without parsing it. */
export interface SkimmedResult extends Pick<ToolResult, 'page' | 'numbered' | 'plain' | 'carried'> {
  readonly named: Named;
}

const UUID = Buffer.from(',"uuid":"');
const UUID_LENGTH = 36;
const TIME = Buffer.from('","timestamp":"');
const CLOSED = '"'.length;
/** From the first byte of a name to behind the quote that closes its time. */
export const NAME_LENGTH: number = UUID_LENGTH + TIME.length + TIME_LENGTH + CLOSED;

/** The name and time of a record, where its name begins; undefined if they are not exactly as expected. */
export function nameAt(bytes: Buffer, at: number): Named | undefined {
  const time = at + UUID_LENGTH + TIME.length;
  if (endOfWord(bytes, at) !== at + UUID_LENGTH || !standsAt(bytes, TIME, at + UUID_LENGTH)) return undefined;
  if (endOfWord(bytes, time) !== time + TIME_LENGTH) return undefined;
  // Copied out of the bytes: a piece of a longer string would keep all of it alive.
  const uuid = bytes.toString('latin1', at, at + UUID_LENGTH);
  return { uuid, key: keyAt(bytes, at), atMs: timeAt(bytes, time) };
}

/** The name and time of a record that stand right before a position in its line. */
export function nameBefore(bytes: Buffer, at: number): Named | undefined {
  const named = at - NAME_LENGTH;
  return named >= UUID.length && standsAt(bytes, UUID, named - UUID.length)
    ? nameAt(bytes, named)
    : undefined;
}

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
