import { join } from 'node:path';
import { expect, it } from 'vitest';
import { attackTable } from '../support/attack-table.ts';
import { desk } from '../support/desk.ts';
import { RULES, replayHistory, seeded } from '../support/replay.ts';

/**
 * The number of commits to replay, the seed of the random numbers and the last commit. Three
 * environment variables can change them.
 */
const COMMITS = Number(process.env['LOOKFIRST_REPLAY'] ?? 200);
const SEED = Number(process.env['LOOKFIRST_REPLAY_SEED'] ?? 14);
const UNTIL = process.env['LOOKFIRST_REPLAY_UNTIL'] ?? 'HEAD';
/** Checks of the content are off, because this repository's tests contain many placeholders, tokens and quotes. */
const POLICY = {
  placeholders: 'allow',
  secrets: 'show',
  quotes: 'off',
  durability: 'none',
  commands: { trust: ['**'] },
} as const;
const report = attackTable('replay of this repository as agent work, with outside commits in between');

it('a replayed history has no missed overwrite and no wrong refusal', async () => {
  const { root, session } = await desk({ policy: POLICY });
  const repository = join(import.meta.dirname, '../..');
  const random = seeded(SEED);
  const tally = await replayHistory({ repository, root, session, commits: COMMITS, until: UNTIL, random });
  const { rules, commits, must, mustNot, either } = tally;
  for (const rule of RULES) {
    const { missed, wrong } = rules[rule];
    const perMille = `${((1000 * wrong) / must).toFixed(1)} ‰`;
    report({ rule, commits, must, 'must not': mustNot, either, missed, wrong, 'wrong refusals': perMille });
  }
  const recovery = tally.shownBytes / tally.rereadBytes;
  process.stdout.write(`refusals: ${JSON.stringify(tally.codes)}\n`);
  process.stdout.write(`shown by STALE: ${(100 * recovery).toFixed(1)} % of the bytes of a new read\n`);
  expect(tally.differing).toEqual([]);
  expect(tally.mistakes).toEqual([]);
  expect(rules.Lookfirst).toEqual({ missed: 0, wrong: 0 });
  expect(recovery).toBeLessThanOrEqual(0.1);
  // Control: the rules of other tools judge the same events, and each of them is sometimes wrong.
  expect(rules['whole-file hash'].wrong).toBeGreaterThan(0);
  expect(rules.mtime.missed).toBeGreaterThan(0);
  expect(rules['read set'].missed).toBeGreaterThan(0);
  expect(mustNot).toBeGreaterThan(COMMITS / 10);
});
