// Records as fast as it can into a shared database. Reports acknowledged records to the parent.
import { knownOf } from '../../src/judge/known.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { BARE_SIGHTING, changeEntry, delta, file } from '../store/samples.ts';

interface Settings {
  readonly file: string;
  readonly name: string;
  /** Number of records to make. 0: the process makes records until it is killed. */
  readonly records: number;
  readonly announce: boolean;
  /** The process reports only each n-th acknowledged record. This is n. */
  readonly tellEvery: number;
}

const settings: Settings = JSON.parse(process.argv[2] ?? '');
const store = await openSqliteStore(settings.file);
process.send?.('ready');
await new Promise((resolve) => process.once('message', resolve));

for (let count = 1; settings.records === 0 || count <= settings.records; count++) {
  const change = `${settings.name}-${count}`;
  const entry = changeEntry(change, [delta('shared.ts', file('x'), file('y'))], { session: settings.name });
  const key = `/key/${count % 7}`;
  const before = knownOf(store.recall(settings.name, key));
  if (settings.announce) await store.record({ announce: { change, owner: `${process.pid}:1`, entry } });
  const sighting = { ...BARE_SIGHTING, key, totalLines: (before?.totalLines ?? 0) + 1 };
  const noted = { settle: [change], views: [{ session: settings.name, view: { sighting } }] };
  // Record a change and what the session has seen (its sighting) alternately in one call of
  // `record` and in two, so that the tests cover both.
  const together = count % 2 === 0;
  await store.record({ entries: [entry], ...(together ? noted : {}) });
  const [added] = await store.entries({ change, limit: 1 });
  if (!together) await store.record(noted);
  if (count % settings.tellEvery === 0) process.send?.({ count, seq: added?.seq, hash: added?.hash });
}
await store.close();
process.disconnect?.();
