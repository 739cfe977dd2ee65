import { expect } from 'vitest';
import { verifyChain } from '../../src/journal/verify.ts';
import { Sessions } from '../../src/session/sessions.ts';
import { startChild } from '../support/child.ts';
import { IN_MEMORY, type Scratch, scratch } from '../support/tree.ts';
import { play, prepareTree, SCENES } from './killable.ts';
import { pathsIn, treeWithModes } from './tree-replay.ts';

export interface Killings {
  readonly steps: number;
  readonly killed: number;
  readonly old: number;
  readonly new: number;
}

/**
 * Plays a scene several times, each time in a new process that is killed before another step:
 * before the first one, and then before every n-th one. `strideOf` returns n for the number of all
 * steps. When Lookfirst opens the workspace after a kill, all of the change must be there, or
 * nothing of it.
 */
export async function killEverywhere(name: string, strideOf: (steps: number) => number): Promise<Killings> {
  let steps = 0;
  const whole = prepared();
  const outcome = await play(whole, name, () => {
    steps += 1;
  });
  expect(outcome).toMatchObject({ ok: true });
  const after = treeWithModes(whole.root);
  const earlier = SCENES[name]?.before?.length ?? 0;
  const tally = { steps, killed: 0, old: 0, new: 0 };
  const stride = strideOf(steps);
  for (let step = 1; step <= steps; step += stride) {
    const places = prepared();
    const child = await startChild('session-killed', { ...places, scene: name, step });
    const end = await child.exit();
    // A file that is only a moment old takes more steps, so a scene may be over earlier than the first time.
    if (end.code === 0 && step > steps / 2) break;
    expect(end).toEqual({ code: null, signal: 'SIGKILL' });
    tally.killed += 1;
    tally[await checkAfter(places, { after, step, earlier })] += 1;
  }
  return tally;
}

/**
 * Like `killEverywhere`, but the processes that recover the change are killed too: the first one
 * before its first system call that changes a file, the next ones later and later, until one runs to
 * its end. Returns the number of killed recoveries.
 */
export async function killRecoveries(
  name: string,
  { step, stride }: { readonly step: number; readonly stride: number },
): Promise<number> {
  const whole = prepared();
  expect(await play(whole, name, () => {})).toMatchObject({ ok: true });
  const after = treeWithModes(whole.root);
  const earlier = SCENES[name]?.before?.length ?? 0;
  const places = prepared();
  const child = await startChild('session-killed', { ...places, scene: name, step });
  await child.exit();
  for (let killed = 0, call = 1; ; killed += 1, call += stride) {
    const recovery = await startChild('session-recovered', { ...places, call });
    const { signal } = await recovery.exit();
    if (signal === 'SIGKILL') continue;
    await checkAfter(places, { after, step, earlier });
    return killed;
  }
}

function prepared(): Scratch {
  const places = scratch(IN_MEMORY);
  prepareTree(places.root);
  return places;
}

async function checkAfter(
  { root, home }: Scratch,
  {
    after,
    step,
    earlier,
  }: { readonly after: readonly string[]; readonly step: number; readonly earlier: number },
): Promise<'old' | 'new'> {
  const sessions = await Sessions.open({ roots: [root], home });
  const { store } = sessions.world;
  expect(await store.pending(), `step ${step}`).toEqual([]);
  expect(pathsIn(root).filter((path) => path.includes('.lookfirst-'))).toEqual([]);
  const found = treeWithModes(root);
  const changes = await store.entries({ kinds: ['change'] });
  const [last] = changes;
  const isDone = JSON.stringify(found) === JSON.stringify(after);
  expect(changes.length, `step ${step}`).toBe(earlier + (isDone ? 1 : 0));
  const session = await sessions.session('ann');
  if (isDone) {
    // A completed change is in the journal, and can be undone and redone.
    const { change: again = '' } = expectOk(await session.undo({ change: last?.change ?? '' }), step);
    expect(treeWithModes(root), `step ${step}`).not.toEqual(after);
    expectOk(await session.undo({ change: again }), step);
    expect(treeWithModes(root), `step ${step}`).toEqual(after);
  } else {
    if (earlier > 0) expectOk(await session.undo({ sinceMs: 0 }), step);
    const start = prepared();
    expect(treeWithModes(root), `step ${step}`).toEqual(treeWithModes(start.root));
  }
  expect((await verifyChain(store)).ok).toBe(true);
  await sessions.close();
  return isDone ? 'new' : 'old';
}

function expectOk<T extends { readonly ok: boolean }>(outcome: T, step: number): Extract<T, { ok: true }> {
  expect(outcome, `step ${step}`).toMatchObject({ ok: true });
  // The cast is safe: the line above asserts that `ok` is true.
  return outcome as Extract<T, { ok: true }>;
}
