import { expect, it } from 'vitest';
import { killedInTheMiddle } from '../fleet/killed.ts';
import { attackTable } from '../support/attack-table.ts';
import { countTogether } from '../support/counters.ts';
import { describePostgres } from '../support/postgres.ts';

await describePostgres('a fleet on PostgreSQL', (server) => {
  const shared = attackTable('four machines edit one file of a shared folder');
  const killed = attackTable('the server is killed in the middle of 200 edits');

  it('4 × 500 edits of one file by four machines lose nothing', async () => {
    const machines = { store: server.url(), workspace: 'shared', sharedWorkspace: true };
    const run = { processes: 4, edits: 500, files: ['a.txt'], machines };
    const { refusals, ...counted } = await countTogether(run);
    shared({ ...counted, chain: String(counted.chain), refused: JSON.stringify(refusals) });
    const all = 2000;
    expect(counted).toEqual({
      acknowledged: all,
      counted: all,
      changes: all,
      sessions: 4,
      pending: 0,
      chain: true,
    });
  });

  it('200 edits around a killed server leave every file old or new, and the journal agreeing', async () => {
    const { refused } = await killedInTheMiddle(server, 200);
    killed({ edits: 200, refused });
  });
});
