import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Score {
  readonly guard: string;
  readonly wrongRefusals: number;
  readonly missedClobbers: number;
  readonly wrong: readonly string[];
}

it('has no false alarm and no missed overwrite in everyday mixes of events, while each older rule has some', () => {
  const bench = join(import.meta.dirname, '../../bench/false-alarms.mjs');
  // The cast is safe: the script that this test runs prints this JSON.
  const [ours, ...others] = JSON.parse(
    execFileSync(process.execPath, [bench, '--json', '--repeats', '1'], { encoding: 'utf8' }),
  ) as Score[];
  expect(ours).toMatchObject({ guard: 'Lookfirst', wrongRefusals: 0, missedClobbers: 0, wrong: [] });
  expect(others.length).toBeGreaterThan(2);
  for (const { wrongRefusals, missedClobbers } of others)
    expect(wrongRefusals + missedClobbers).toBeGreaterThan(0);
});
