import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { Sessions } from '../../src/session/sessions.ts';
import { IN_MEMORY, scratch } from '../support/tree.ts';
import { RandomWork } from './random-work.ts';
import { sealed } from './sealed.ts';
import { difference, filesIn, replay, story, treeWithModes } from './tree-replay.ts';

/** Makes random changes in three sessions. Checks that the journal describes the result and that one undo reverts all. */
export async function workAndUndoAll(seed: number, steps: number): Promise<number> {
  const { root, home } = scratch(IN_MEMORY);
  mkdirSync(join(root, 'd'), { mode: 0o700 });
  writeFileSync(join(root, 'f0'), sealed('at the beginning'), { mode: 0o600 });
  writeFileSync(join(root, 'd/f1'), sealed('in a folder'), { mode: 0o640 });
  const [files, tree] = [filesIn(root), treeWithModes(root)];
  const sessions = await Sessions.open({
    roots: [root],
    home,
    store: 'memory:',
    policy: { durability: 'none' },
  });
  try {
    const workers: RandomWork[] = [];
    for (const name of ['ann', 'bob', 'cleo'])
      workers.push(new RandomWork(await sessions.session(name), seed * 100 + workers.length));
    for (let step = 0; step < steps; step += 1) await workers[step % workers.length]?.step();

    const entries = await sessions.world.store.entries({ kinds: ['change'], order: 'oldest' });
    const told = replay(entries, files);
    expect(told.breaks, story(entries)).toEqual([]);
    expect(Object.fromEntries(told.files), story(entries)).toEqual(Object.fromEntries(filesIn(root)));
    const outcome = await (await sessions.session('dora')).undo({ sinceMs: 0 });
    if (!outcome.ok) expect.fail(`seed ${seed}: ${JSON.stringify(outcome.refusal)}\n${story(entries)}`);
    expect(difference(tree, treeWithModes(root)), `seed ${seed}\n${story(entries)}`).toEqual([]);
    return entries.length;
  } finally {
    await sessions.close();
  }
}
