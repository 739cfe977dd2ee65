import { expect, it } from 'vitest';
import { undoAgainstReplay } from '../support/undo-replay.ts';

it('an undo restores what a replay without the change gives, and can be undone', async () => {
  const tally = await undoAgainstReplay(40, 3);
  expect(tally.replayed).toBeGreaterThan(20);
  expect(tally.all).toBeGreaterThan(5);
});
