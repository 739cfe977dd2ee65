import { it } from 'vitest';
import { compareClaims } from '../support/agents-at-work.ts';

it('four processes, 200 edits of five files: nothing is lost, and notices at least halve the STALE refusals', async () => {
  await compareClaims();
}, 240_000);
