import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { knownOf } from '../../src/judge/known.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { Hooked } from '../support/hooked.ts';
import { rounds } from '../support/rounds.ts';
import { scratch } from '../support/tree.ts';

/** Number of commands; `npm run attack` runs all 200. */
const COMMANDS = rounds(20, 200);
const LINES = 12;
const NAMES = Array.from({ length: 20 }, (_, at) => `f${at}.py`);

it(`${COMMANDS} batched shell commands: shown lines count as read, lost updates are reported, reads are never refused`, async () => {
  const places = scratch();
  const agent = new Hooked(places);
  const at = (name: string) => join(places.root, name);
  for (const name of NAMES)
    writeFileSync(at(name), Array.from({ length: LINES }, (_, n) => `${name} line ${n}\n`).join(''));
  const sessions = await Sessions.open({ roots: [places.root], home: places.home });
  const counts = { shown: 0, credited: 0, lost: 0, named: 0, refused: 0 };
  for (let round = 0; round < COMMANDS; round += 1) {
    const [one = '', other = ''] = [NAMES[round % 20], NAMES[(round * 7 + 3) % 20]];
    if (round % 4 === 3) {
      // Another program changes a file after it was read. Then the command overwrites the file with its older text and
      // one changed line.
      const seen = readFileSync(at(one), 'utf8');
      await agent.shell(`cat ${one}`);
      writeFileSync(at(one), seen.replace('line 2', 'line 2 by hand'));
      writeFileSync(join(places.base, 'patched'), seen.replace('line 9', `line 9 of ${round}`));
      const write = `open('${one}','w').write(open('${join(places.base, 'patched')}').read())`;
      const isLost = seen !== readFileSync(at(one), 'utf8');
      const { context = '' } = await agent.shell(`python3 -c "${write}"; echo done`);
      counts.lost += isLost ? 1 : 0;
      counts.named += isLost && context.includes('by hand') ? 1 : 0;
      continue;
    }
    const { verdict } = await agent.shell(
      `cat ${one} && sed -n 3,8p ${other} | cat -n; echo ok; ls | head -3`,
    );
    counts.refused += verdict === 'deny' ? 1 : 0;
    counts.shown += LINES;
    const { coverage } = knownOf(sessions.world.store.recall('s', at(one))) ?? {
      coverage: { kind: 'none' },
    };
    if (coverage.kind === 'whole') counts.credited += LINES;
  }
  await sessions.close();
  expect(counts.refused).toBe(0);
  expect(counts.credited / counts.shown).toBeGreaterThanOrEqual(0.95);
  expect(counts.lost).toBeGreaterThan(0);
  expect(counts.named).toBe(counts.lost);
});
