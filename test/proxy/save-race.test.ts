import { describe, expect, it } from 'vitest';
import { attackSaves, type Guard } from '../support/save-attack.ts';

describe('a user saves a file after an agent has read it', () => {
  it.each<Guard>(['default', 'strict', 'file-time', 'staleness'])(
    'the agent’s write through the proxy never removes the saved bytes: %s',
    async (guard) => {
      expect(await attackSaves({ guard, pausesMs: [0, 1, 2, 5, 10, 20, 50], tries: 35 })).toBe(0);
    },
  );

  it('without the proxy, saves are lost', async () => {
    expect(await attackSaves({ guard: 'none', pausesMs: [0], tries: 5 })).toBe(5);
  });
});
