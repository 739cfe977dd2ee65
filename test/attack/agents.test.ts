import { describe, it } from 'vitest';
import { compareClaims } from '../support/agents-at-work.ts';
import { describePostgres } from '../support/postgres.ts';

const TITLE =
  'four processes at the same time, 200 edits of five files: nothing is lost, and notices at least halve the STALE refusals';

describe('agents on SQLite', () => {
  it.each([1, 2, 3, 4, 5])(
    `${TITLE} (run %i)`,
    async () => {
      await compareClaims({ thinkMs: 50 });
    },
    600_000,
  );
});

await describePostgres('agents on PostgreSQL', (server) => {
  it.each([200])(
    `${TITLE} (thinking %i ms)`,
    async (thinkMs) => {
      await compareClaims({ store: () => server.url(), thinkMs });
    },
    900_000,
  );
});
