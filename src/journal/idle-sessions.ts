import type { SessionRecord } from '../model/session-record.ts';
import type { SessionFilter, Store } from '../store/store.ts';

/**
 * Sessions that were neither opened, closed nor shown anything since a moment. A record has only the times of opening and
 * closing; a session in a process that runs for weeks is in use as long as it gains sightings.
 */
export async function idleSessions(
  store: Store,
  sinceMs: number,
  filter: SessionFilter = {},
): Promise<readonly SessionRecord[]> {
  const idle: SessionRecord[] = [];
  for (const record of await store.sessions(filter)) {
    if (record.lastMs >= sinceMs) continue;
    const seen = await store.sightings(record.id);
    if (seen.every((sighting) => sighting.atMs < sinceMs)) idle.push(record);
  }
  return idle;
}
