import { it } from 'vitest';
import { compareClaims } from '../support/agents-at-work.ts';

it('four processes make 200 edits of five files: none is lost, and notices at least halve the STALE refusals', async () => {
  await compareClaims({ thinkMs: 50 });
});
