import type { SessionRecord } from '../model/session-record.ts';
import type { SessionFilter, Store } from '../store/store.ts';

/**
 * Sessions that were not opened, closed or shown anything since `sinceMs`. Sightings count because
 * a record only has the times of opening and closing, and a process may run for weeks.
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
