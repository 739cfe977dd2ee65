import { describe, expect, it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import {
  attackCommit,
  type CommitKind,
  cannotRun,
  WRITER_KINDS,
  type WriterKind,
} from '../support/writer-attack.ts';

const WRITES = Number(process.env['WRITES'] ?? 20_000);
const ROUND = 500;
const report = attackTable('acknowledged lines of an outside writer that are nowhere any more');

async function attack(writer: WriterKind, commit: CommitKind): Promise<number> {
  let tally = await attackCommit({
    writer,
    commit,
    writes: ROUND,
    rounds: commit === 'naive' ? 4 : WRITES / ROUND,
  });
  // A writer that finds no file skips its line, and skipped lines do not count. So more rounds
  // follow until enough lines are written.
  while (commit !== 'naive' && tally.acknowledged < WRITES) {
    const more = await attackCommit({ writer, commit, writes: ROUND, rounds: 4 });
    tally = {
      acknowledged: tally.acknowledged + more.acknowledged,
      lost: tally.lost + more.lost,
      committed: tally.committed + more.committed,
      conflicts: tally.conflicts + more.conflicts,
      retained: tally.retained + more.retained,
    };
  }
  report({ writer, commit, ...tally });
  return tally.lost;
}

describe.each(WRITER_KINDS)(`${WRITES} outside writes (%s)`, (writer) => {
  it.skipIf(cannotRun(writer, 'naive') !== undefined)(
    'lose lines to a program that compares a hash and then renames',
    async () => {
      expect(await attack(writer, 'naive')).toBeGreaterThan(0);
    },
  );

  describe.each(['exchange', 'claim'] as const)('against our %s', (commit) => {
    it.skipIf(cannotRun(writer, commit) !== undefined)('lose nothing', async () => {
      expect(await attack(writer, commit)).toBe(0);
    });
  });
});
