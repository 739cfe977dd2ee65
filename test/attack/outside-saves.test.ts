import { expect, it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import { attackOutsideSaves } from '../support/outside-saves.ts';

const FOR_MS = Number(process.env['SECONDS'] ?? 60) * 1000;
const report = attackTable(
  'saves of two outside programs beside three agents (goal for refused edits: 2 % at 100 ms, 20 % at 20 ms)',
);

it.each([0, 20, 100])(
  'one save per %i ms: every save that the gate displaced is kept and journalled',
  async (pauseMs) => {
    const tally = await attackOutsideSaves({ agents: 'gated', pauseMs, forMs: FOR_MS });
    const share = `${((100 * tally.refused) / tally.edits).toFixed(1)} %`;
    report({ agents: 'gated', pauseMs, ...tally, share });
    expect(tally).toMatchObject({ missing: 0, unnoted: 0 });
    expect(Math.min(tally.saves, tally.edits)).toBeGreaterThan(100);
  },
);

it('agents without the gate lose saves', async () => {
  const tally = await attackOutsideSaves({ agents: 'naive', pauseMs: 20, forMs: 10_000 });
  report({ agents: 'naive', pauseMs: 20, ...tally, share: '0 %' });
  expect(tally.missing).toBeGreaterThan(0);
});
