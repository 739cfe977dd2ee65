import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Score {
  readonly guard: string;
  readonly wrongRefusals: number;
  readonly missedClobbers: number;
  readonly wrong: readonly string[];
}

it('no false alarm and no missed clobber in everyday mixes, where each of the older rules has some', () => {
  const bench = join(import.meta.dirname, '../bench/false-alarms.mjs');
  // Printed by our own script one line above.
  const [ours, ...others] = JSON.parse(
    execFileSync(process.execPath, [bench, '--json', '--repeats', '3'], { encoding: 'utf8' }),
  ) as Score[];
  expect(ours).toMatchObject({ guard: 'Lookfirst', wrongRefusals: 0, missedClobbers: 0, wrong: [] });
  expect(others.length).toBeGreaterThan(2);
  for (const { wrongRefusals, missedClobbers } of others)
    expect(wrongRefusals + missedClobbers).toBeGreaterThan(0);
});
