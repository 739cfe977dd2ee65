import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { scratch } from '../../test/support/tree.ts';
import type { TreeSnapshot } from '../model/entry.ts';
import { candidatesSince, dropSnapshot } from './git-snapshot.ts';
import { Processes } from './processes.ts';
import { WarmTree } from './warm-tree.ts';

const ROUNDS: readonly string[] = [
  'echo x >> d1/f1; echo new > d1/new; rm d2/f2',
  'mkdir -p n/o; echo 1 > n/o/p; echo 2 > n/q',
  'mv d3 d3moved; mv d4/f1 d4/g1',
  'rm -rf d5; mkdir d5; echo other > d5/f1',
  'chmod 755 d6/f1; touch d7/f1; ln -s f1 d7/link',
  'echo x > empty/first; echo ignored > build/out; mkdir build2; echo y > n/o/again',
  'git checkout -q -- . && git stash -q -u 2>/dev/null; git stash pop -q',
  'echo 1 > d8/f1; rm -r n; mv d3moved d3',
];

/** The repository that each test gets a copy of. */
const original = mkdtempSync(join(tmpdir(), 'lookfirst-test-'));
beforeAll(() => makeRepository(original));
afterAll(() => rmSync(original, { recursive: true }));

function shellIn(root: string): (command: string) => void {
  return (command) => void execFileSync('sh', ['-c', command], { cwd: root, stdio: 'pipe' });
}

function largeRepository(root: string): (command: string) => void {
  const run = shellIn(root);
  run(`cp -a '${original}/.' . && git status`);
  return run;
}

/** Makes a git repository with so many files that Lookfirst watches its work tree. */
function makeRepository(root: string): void {
  for (let folder = 0; folder < 52; folder += 1) {
    mkdirSync(join(root, `d${folder}`));
    for (let file = 0; file < 100; file += 1)
      writeFileSync(join(root, `d${folder}/f${file}`), `${folder} ${file}\n`);
  }
  mkdirSync(join(root, 'empty'));
  mkdirSync(join(root, 'build'));
  writeFileSync(join(root, '.gitignore'), 'build/\nbuild2/\n');
  const who = 'git config user.name a && git config user.email a@b.c';
  shellIn(root)(`git init -q && ${who} && git add -A && git commit -qm one`);
}

it('a work tree is watched even if its first snapshot takes longer than a command may wait', async () => {
  const { root, home } = scratch();
  const run = largeRepository(root);
  const processes = new Processes({ home, env: process.env, attributes: undefined });
  processes.keepWarm();
  const over = AbortSignal.abort();
  expect(await processes.snapshot(root, 'first', over)).toHaveProperty('unavailable');
  run('echo meanwhile > d1/f1');
  let calls = 0;
  await expect
    .poll(async () => {
      calls += 1;
      return 'unavailable' in (await processes.snapshot(root, `s${calls}`, over));
    })
    .toBe(false);
  run('echo later > d2/f2');
  const { signal } = new AbortController();
  const found = await processes.candidates(
    { root, index: join(home, 'snapshots', `s${calls}`), loose: [], converted: [], uncovered: [], atMs: 0 },
    signal,
  );
  expect(found).toMatchObject([{ path: 'd2/f2' }]);
  dropSnapshot({ index: join(home, 'snapshots', `s${calls}`) });
  processes.close();
  expect(readdirSync(join(home, 'snapshots'))).toEqual([]);
});

it('a watched work tree names the same changed files as a full comparison', async () => {
  const { root, home } = scratch();
  const run = largeRepository(root);
  const { signal } = new AbortController();
  const processes = new Processes({ home, env: process.env, attributes: undefined });
  processes.keepWarm();
  const take = async (name: string): Promise<TreeSnapshot> => {
    const taken = await processes.snapshot(root, name, signal);
    if ('unavailable' in taken) throw new Error(taken.unavailable);
    return taken;
  };
  dropSnapshot(await take('first'));
  for (const [round, command] of ROUNDS.entries()) {
    const snapshot = await take(`s${round}`);
    run(command);
    const full = await candidatesSince(snapshot, signal);
    const warm = await processes.candidates(snapshot, signal);
    if ('unavailable' in full || 'unavailable' in warm) throw new Error('no candidates');
    const loose = new Set(snapshot.loose);
    const found = new Map(warm.map(({ path, blob }) => [path, blob]));
    for (const { path, blob } of full.filter((each) => !loose.has(each.path))) {
      expect([command, path, found.get(path)]).toEqual([command, path, blob]);
      expect(found.has(path)).toBe(true);
    }
    // The list of candidates may contain unchanged files, because a later step compares their
    // bytes. It must not contain all files.
    expect(warm.length).toBeLessThan(2_000);
    dropSnapshot(snapshot);
  }
  expect(readdirSync(join(home, 'snapshots')).some((name) => name.startsWith('warm-'))).toBe(true);
  processes.close();
  expect(readdirSync(join(home, 'snapshots'))).toEqual([]);
});

it('a watched work tree answers several snapshots at the same time', async () => {
  const { root, home } = scratch();
  const run = largeRepository(root);
  mkdirSync(join(home, 'snapshots'));
  const tree = await WarmTree.begin(root, { index: join(root, '.git/index'), home, tag: 't' });
  run('echo x > d1/f1');
  const taken = await Promise.all(
    ['a', 'b', 'c'].map((name) => tree?.snapshot(join(home, 'snapshots', name))),
  );
  expect(taken.map((snapshot) => snapshot?.loose)).toEqual([['d1/f1'], ['d1/f1'], ['d1/f1']]);
  tree?.close();
});

it.each(['sha1', 'sha256'])('a work tree with hashes of %s is watched', async (format) => {
  const { root, home } = scratch();
  const lines = 'seq 30000 | sed "s|.*|100644 $blob 0\\tf&|"';
  shellIn(root)(
    `git init -q --object-format=${format} && blob=$(echo x | git hash-object -w --stdin) && ${lines} | git update-index --index-info`,
  );
  mkdirSync(join(home, 'snapshots'));
  const tree = await WarmTree.begin(root, { index: join(root, '.git/index'), home, tag: 't' });
  expect(tree).toBeDefined();
  tree?.close();
});
