import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { IS_LONG } from './support/rounds.ts';

interface Result {
  readonly scene: string;
  readonly result: 'prevented' | 'recovered' | 'lost' | 'passed' | 'refused';
  readonly told?: boolean;
  readonly text: string;
}

/** The scenes that a short run plays: every third one. A long run plays all. */
const PART = IS_LONG ? '1/1' : '1/3';

it(`hooks lose nothing, name what dies and refuse nothing harmless (part ${PART})`, () => {
  const bench = join(import.meta.dirname, '../bench/clobber.mjs');
  const args = [bench, '--guards', 'lookfirst-hooks', '--json', '--part', PART];
  const printed = execFileSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  // The cast is safe: the script that this test runs prints this JSON.
  const [{ results }] = JSON.parse(printed) as [{ results: readonly Result[] }];
  const wrong = results.filter(
    ({ result, told }) => result === 'lost' || result === 'refused' || told === false,
  );
  expect(results.length).toBeGreaterThan(80);
  expect(wrong).toEqual([]);
});
