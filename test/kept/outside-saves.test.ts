import { expect, it } from 'vitest';
import { attackOutsideSaves } from '../support/outside-saves.ts';

it('saves that the gate displaces are kept and journalled', async () => {
  const tally = await attackOutsideSaves({ agents: 'gated', pauseMs: 5, forMs: 3000 });
  expect(tally).toMatchObject({ missing: 0, unnoted: 0 });
  expect(tally.edits).toBeGreaterThan(0);
});

it('agents without the gate lose saves', async () => {
  const tally = await attackOutsideSaves({ agents: 'naive', pauseMs: 0, forMs: 3000 });
  expect(tally.missing).toBeGreaterThan(0);
});
