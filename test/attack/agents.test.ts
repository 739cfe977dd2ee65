import { it } from 'vitest';
import { compareClaims } from '../support/agents-at-work.ts';
import { describePostgres } from '../support/postgres.ts';

it('four processes at the same time, 200 edits of five files: nothing is lost', async () => {
  await compareClaims({ thinkMs: 200, atOnce: 4 });
}, 600_000);

await describePostgres('agents on PostgreSQL', (server) => {
  // Another process's claim is known a second later: these agents think longer than that before their first read of a turn.
  it('four processes, 200 edits of five files: nothing is lost, and notices at least halve the STALE refusals', async () => {
    await compareClaims({ store: () => server.url(), thinkMs: 1200 });
  }, 900_000);

  it('four processes at the same time: nothing is lost', async () => {
    await compareClaims({ store: () => server.url(), thinkMs: 200, atOnce: 4 });
  }, 600_000);
});
