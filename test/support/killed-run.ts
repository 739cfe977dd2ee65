import { spawn } from 'node:child_process';
import { expect } from 'vitest';
import { environment, lookfirst, PROGRAM } from './command-line.ts';
import type { Scratch } from './tree.ts';
import { treeOf } from './tree-of.ts';

const SCRIPT = 'for i in $(seq 40); do echo new > f$i; done; mkdir d; echo x > d/x; rm a.txt';

/**
 * Runs a command that makes 40 files, a folder with a file, and removes `a.txt`, which must be all there is. Kills it, later
 * in each round, and checks that all of its writes are in the workspace or none. Committed writes are undone.
 */
export async function killRuns(
  places: Scratch,
  { rounds, firstMs, stepMs }: { readonly rounds: number; readonly firstMs: number; readonly stepMs: number },
): Promise<{ readonly untouched: number; readonly committed: number }> {
  const before = treeOf(places.root);
  let committed = 0;
  for (let round = 0; round < rounds; round += 1) {
    await killedAfter(places, firstMs + round * stepMs);
    expect(await lookfirst(places, ['run', '--', 'true'])).toMatchObject({ code: 0 });
    const after = treeOf(places.root);
    if (JSON.stringify(after) === JSON.stringify(before)) continue;
    committed += 1;
    expect(Object.keys(after)).toHaveLength(42);
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    expect(treeOf(places.root)).toEqual(before);
  }
  return { untouched: rounds - committed, committed };
}

async function killedAfter(places: Scratch, ms: number): Promise<void> {
  const [program = '', ...first] = PROGRAM;
  const child = spawn(program, [...first, 'run', '--', 'sh', '-c', SCRIPT], {
    cwd: places.root,
    env: environment(places),
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const timer = setTimeout(() => child.kill('SIGKILL'), ms);
  await ended;
  clearTimeout(timer);
}
