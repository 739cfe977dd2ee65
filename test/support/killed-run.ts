import { spawn } from 'node:child_process';
import { expect } from 'vitest';
import { environment, lookfirst, PROGRAM } from './command-line.ts';
import type { Scratch } from './tree.ts';
import { treeOf } from './tree-of.ts';

/** A command that creates 40 files and a folder with a file, and removes `a.txt`. */
export const FEW_FILES = {
  script: 'for i in $(seq 40); do echo new > f$i; done; mkdir d; echo x > d/x; rm a.txt',
  left: 42,
};
/**
 * A command that creates a folder of 260 files and 20 files beside it, and removes `a.txt`. The
 * commit of this many files links them instead of writing them again.
 */
export const MANY_FILES = {
  script: 'mkdir d; seq 260 | split -l 1 -a 3 - d/f; for i in $(seq 20); do echo new > f$i; done; rm a.txt',
  left: 281,
};

export interface KillRounds {
  readonly rounds: number;
  /** The command's script, and the number of paths in the workspace after it (`left`). */
  readonly command: { readonly script: string; readonly left: number };
}

/**
 * In each round, starts `lookfirst run` with the command, and kills it a bit later than in the
 * round before. After the next start of Lookfirst, the workspace must have all of the command's
 * writes or none. The moments of the kills are fractions of the time of a whole run, because that
 * time depends on the load.
 */
export async function killRuns(
  places: Scratch,
  { rounds, command }: KillRounds,
): Promise<{ readonly untouched: number; readonly committed: number }> {
  const before = treeOf(places.root);
  const start = performance.now();
  await killedAfter(places, command.script, undefined);
  const wholeMs = performance.now() - start;
  expect(Object.keys(treeOf(places.root))).toHaveLength(command.left);
  expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
  let committed = 0;
  for (let round = 0; round < rounds; round += 1) {
    // Kill at 40 % to 120 % of the whole time: the commit happens in the second half of it.
    await killedAfter(places, command.script, wholeMs * (0.4 + (0.8 * round) / rounds));
    expect(await lookfirst(places, ['run', '--', 'true'])).toMatchObject({ code: 0 });
    const after = treeOf(places.root);
    if (JSON.stringify(after) === JSON.stringify(before)) continue;
    committed += 1;
    expect(Object.keys(after)).toHaveLength(command.left);
    expect(await lookfirst(places, ['undo'])).toMatchObject({ code: 0 });
    expect(treeOf(places.root)).toEqual(before);
  }
  return { untouched: rounds - committed, committed };
}

async function killedAfter(places: Scratch, script: string, ms: number | undefined): Promise<void> {
  const [program = '', ...first] = PROGRAM;
  const child = spawn(program, [...first, 'run', '--', 'sh', '-c', script], {
    cwd: places.root,
    env: environment(places),
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const timer = ms === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), ms);
  await ended;
  clearTimeout(timer);
}
