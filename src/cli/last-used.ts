import type { SessionRecord } from '../model/session-record.ts';
import type { Sighting } from '../model/sighting.ts';

/** When a session was used last: its record only says when it was opened or closed, what it has seen says more. */
export function lastUsedMs({ lastMs }: SessionRecord, seen: readonly Pick<Sighting, 'atMs'>[]): number {
  return seen.reduce((last, { atMs }) => Math.max(last, atMs), lastMs);
}
