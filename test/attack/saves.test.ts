import { describe, expect, it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import { attackSaves, type Guard } from '../support/save-attack.ts';

const TRIES = 500;
const PAUSES_MS = [0, 1, 2, 3, 5, 8, 12, 20, 35, 50];
const report = attackTable('saves of a user that an agent’s next write took out of the live file');

describe.each<Guard>(['none', 'default', 'strict', 'file-time', 'staleness'])('saves under %s', (guard) => {
  it.each(PAUSES_MS)('%i ms after the agent’s read', async (pauseMs) => {
    const lost = await attackSaves({ guard, pausesMs: [pauseMs], tries: TRIES });
    report({ guard, pauseMs, tries: TRIES, lost });
    expect(lost).toBe(guard === 'none' ? TRIES : 0);
  });
});
