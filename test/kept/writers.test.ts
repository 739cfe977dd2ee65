import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { attackCommit, cannotRun, WRITER_KINDS, type WriterAttack } from '../support/writer-attack.ts';

const WRITES = 250;

describe.each(WRITER_KINDS)('an outside writer (%s)', (writer) => {
  describe.each(['exchange', 'claim'] as const)('against our %s', (commit) => {
    const reason = cannotRun(writer, commit);
    it.skipIf(reason !== undefined)(
      `loses nothing${reason === undefined ? '' : ` (${reason})`}`,
      async () => {
        await losesNothing({ writer, commit });
      },
    );
  });

  it.skipIf(cannotRun(writer, 'naive') !== undefined)(
    'loses lines to a program that compares a hash and then renames',
    async () => {
      let lost = 0;
      for (let round = 0; round < 40 && lost === 0; round += 1) {
        lost = (await attackCommit({ writer, commit: 'naive', writes: WRITES, rounds: 1 })).lost;
      }
      expect(lost).toBeGreaterThan(0);
    },
  );
});

/**
 * With the state on another file system, only the last 64 replaced files are watched for late writes, and
 * a try may replace two. On a busy machine, a writer can be asleep during many tries.
 */
const WATCHED_TRIES = 32;

describe.skipIf(!existsSync('/dev/shm'))('with our state on another file system', () => {
  it.each(['exchange', 'claim'] as const)('a slow writer loses nothing to our %s', async (commit) => {
    await losesNothing({ writer: 'slow', commit, homes: '/dev/shm', tries: WATCHED_TRIES });
  });
});

/**
 * Repeats the attack until both the outside program and our commits have written in one round. On a
 * busy machine, one of them can finish before the other begins.
 */
async function losesNothing(attack: Omit<WriterAttack, 'writes' | 'rounds'>): Promise<void> {
  for (let round = 0, met = 0; met === 0; round += 1) {
    expect(round).toBeLessThan(40);
    const tally = await attackCommit({ ...attack, writes: WRITES, rounds: 1 });
    expect(tally).toMatchObject({ lost: 0 });
    met = Math.min(tally.acknowledged, tally.committed);
  }
}
