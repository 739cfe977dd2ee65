import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Result {
  readonly scene: string;
  readonly result: 'prevented' | 'recovered' | 'lost' | 'passed' | 'refused';
  readonly told?: boolean;
  readonly text: string;
}

/** Scenes in which bytes are lost or the agent is told nothing, until commands are judged by effect. */
const OPEN: readonly string[] = [
  'detached commits of a worktree',
  'gc --prune=now',
  'outside: : >',
  'outside: a script names it',
  'outside: cd && rm -rf *',
  'outside: cp onto',
  'outside: find -delete',
  'outside: git -C clean -fdx again',
  'outside: git -C reset --hard',
  'outside: mv onto',
  'outside: rm -f FILE',
  'outside: rm -rf of a project',
  'outside: rm -rf ~/photos',
  'outside: rm -rf ~/photos again',
  'outside: sed -i',
  'prune',
  'python here-document',
  'reflog expire',
  'reflog expire && gc',
  'restore --source',
  'rm -rf $PWD',
  'rm -rf of the project',
  'stash pop && reset --hard',
  'stash pop of another, checkout .',
  'stash pop with conflicts, drop',
];

/** A third of the scenes: another one each day. `npm run attack -- clobber` plays all of them. */
const PART = `${(Math.floor(Date.now() / 86_400_000) % 3) + 1}/3`;

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
  expect(wrong.filter(({ scene }) => !OPEN.includes(scene))).toEqual([]);
});
