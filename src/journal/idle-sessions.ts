import type { SessionRecord } from '../model/session-record.ts';
import type { Store } from '../store/store.ts';

/**
 * Sessions that have seen nothing for so long, nor been opened or closed. A record says only when a session was opened or
 * closed last; a process that runs for weeks is told by what it has seen since.
 */
export async function idleSessions(store: Store, sinceMs: number): Promise<readonly SessionRecord[]> {
  const idle: SessionRecord[] = [];
  for (const record of await store.sessions()) {
    if (record.lastMs >= sinceMs) continue;
    const seen = await store.sightings(record.id);
    if (seen.every((sighting) => sighting.atMs < sinceMs)) idle.push(record);
  }
  return idle;
}
